"""Which cases lie apart, and which to simulate."""
