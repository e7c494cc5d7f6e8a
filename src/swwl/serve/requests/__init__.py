"""What clients ask, checked."""
