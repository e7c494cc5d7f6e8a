"""Kernels on the columns of a table: a factor is a distance on one column and a correlation; ``*`` multiplies them.

Factors learn what they need from a training column (an embedding, a mean and a spread), turn columns into
representations, and pairs of representations into the distances that ``gp/`` works on.

>>> from swwl.kernels import Matern52, SWWL
>>> SWWL("mesh", n_projections=20) * Matern52("speed") * Matern52("pressure")
SWWL('mesh', n_projections=20) * Matern52('speed') * Matern52('pressure')
"""

from swwl.errors import IndefiniteKernelWarning
from swwl.kernels.base import Factor, Product
from swwl.kernels.bodies import BodySets, GroupMeasures
from swwl.kernels.components import Components, PartMeasures, PrincipalSWWL, Summaries
from swwl.kernels.elliptic import Elliptic
from swwl.kernels.numeric import Categories, Gaussian, Matern32, Matern52, Power
from swwl.kernels.precomputed import Precomputed, Rows
from swwl.kernels.sliced import ASWWL, SWWL

__all__ = [
    "ASWWL",
    "SWWL",
    "BodySets",
    "Categories",
    "Components",
    "Elliptic",
    "Factor",
    "Gaussian",
    "GroupMeasures",
    "IndefiniteKernelWarning",
    "Matern32",
    "Matern52",
    "Power",
    "Precomputed",
    "PrincipalSWWL",
    "Product",
    "Rows",
    "PartMeasures",
    "Summaries",
]
