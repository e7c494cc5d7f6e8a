"""The kernels that SWWL is compared with, behind the same interfaces: factors, ``GraphSVC``, plain matrices.

They are adapters to POT and GraKeL, which an extra brings: ``pip install 'swwl[baselines]'``; RPW's training needs
torch, which the extra ``rpw`` brings. Importing this package needs none of them.

>>> from swwl.classification.baselines import WWL
>>> WWL("molecule", n_iterations=2)
WWL('molecule', n_iterations=2)
"""

from swwl.classification.baselines.common import Baseline, GramBaseline
from swwl.classification.baselines.grakel import GraphHopper, Propagation, graphhopper_gram, propagation_gram
from swwl.classification.baselines.rpw import RPW, rpw_distances
from swwl.classification.baselines.transport import FGW, WWL, fgw_distances, wwl_distances

__all__ = [
    "FGW",
    "RPW",
    "WWL",
    "Baseline",
    "GramBaseline",
    "GraphHopper",
    "Propagation",
    "fgw_distances",
    "graphhopper_gram",
    "propagation_gram",
    "rpw_distances",
    "wwl_distances",
]
