"""Whether a case is like the training cases, and in what it differs."""
