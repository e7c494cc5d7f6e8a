"""Commands that choose cases, improve them, and run simulations."""
