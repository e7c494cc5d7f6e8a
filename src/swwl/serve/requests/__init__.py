"""What clients ask: ``questions.py`` declares it, ``reading.py`` reads it from a request."""
