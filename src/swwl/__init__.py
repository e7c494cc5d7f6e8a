"""Gaussian processes and kernel methods on simulation meshes and graphs."""

__version__ = "0.1.0"
