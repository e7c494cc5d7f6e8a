"""The server: addresses, limits, what stands before all answers."""
