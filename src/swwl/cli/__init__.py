"""The ``swwl`` command: one module per command; ``training.py`` and ``data.py`` hold what they share."""

from swwl.cli.app import app, main

__all__ = ["app", "main"]
