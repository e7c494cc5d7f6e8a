"""Tables that users bring: files, what a column is good for, inputs and targets, places that errors name."""

from swwl.tables.read import read_table

__all__ = ["read_table"]
