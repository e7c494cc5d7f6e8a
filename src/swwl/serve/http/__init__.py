"""The server: addresses, who may ask, how much, and the socket."""
