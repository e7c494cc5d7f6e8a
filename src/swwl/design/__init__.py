"""Which cases lie apart, which to simulate, and where to move a shape."""

from swwl.design.domain import far_from_others
from swwl.design.improve import Improvement, improve
from swwl.embedding.modes import Modes, displacement_modes

__all__ = ["Improvement", "Modes", "displacement_modes", "far_from_others", "improve"]
