"""Which cases to simulate first and next, groups of cases, and where to move a shape."""

from swwl.design.acquire import suggest
from swwl.design.ascent import Improvement, improve
from swwl.design.clusters import KernelKMeans, mmd_test
from swwl.design.deformation import Deformation, GroupMotions, Lattice, ModeMotions
from swwl.design.subsets import select
from swwl.domain.verdict import far_from_others
from swwl.embedding.components import Modes, displacement_modes

__all__ = [
    "Deformation",
    "GroupMotions",
    "Improvement",
    "KernelKMeans",
    "Lattice",
    "ModeMotions",
    "Modes",
    "displacement_modes",
    "far_from_others",
    "improve",
    "mmd_test",
    "select",
    "suggest",
]
