"""Which cases lie apart, and which to simulate."""

from swwl.design.domain import far_from_others

__all__ = ["far_from_others"]
