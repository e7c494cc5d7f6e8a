"""The ``swwl`` command: one short module per command, each a shell around ``swwl.jobs``."""

from swwl.cli.app import app, main

__all__ = ["app", "main"]
