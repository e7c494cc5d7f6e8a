"""The public names, for type checkers and editors; ``__init__.py`` imports them when they are first used."""

from swwl.classification import GraphSVC as GraphSVC
from swwl.classification import nested_cv as nested_cv
from swwl.embedding import SWWLEmbedding as SWWLEmbedding
from swwl.embedding import pairwise_distances as pairwise_distances
from swwl.errors import GPWarning as GPWarning
from swwl.errors import IndefiniteKernelWarning as IndefiniteKernelWarning
from swwl.errors import InputError as InputError
from swwl.fields import FieldRegressor as FieldRegressor
from swwl.fields import TransientRegressor as TransientRegressor
from swwl.gp import Coordinates as Coordinates
from swwl.gp import Prediction as Prediction
from swwl.gp import RobustGP as RobustGP
from swwl.kernels import ASWWL as ASWWL
from swwl.kernels import SWWL as SWWL
from swwl.kernels import BodySets as BodySets
from swwl.kernels import Categories as Categories
from swwl.kernels import Components as Components
from swwl.kernels import Elliptic as Elliptic
from swwl.kernels import Gaussian as Gaussian
from swwl.kernels import GroupMeasures as GroupMeasures
from swwl.kernels import Matern32 as Matern32
from swwl.kernels import Matern52 as Matern52
from swwl.kernels import PartMeasures as PartMeasures
from swwl.kernels import Power as Power
from swwl.kernels import Precomputed as Precomputed
from swwl.kernels import PrincipalSWWL as PrincipalSWWL
from swwl.kernels import Rows as Rows
from swwl.kernels import Summaries as Summaries
from swwl.kernels.stored import read_embeddings as read_embeddings
from swwl.mesh import Graph as Graph
from swwl.mesh import Mesh as Mesh
from swwl.mesh import MeshSeries as MeshSeries
from swwl.mesh import as_graph as as_graph
from swwl.mesh import as_mesh as as_mesh
from swwl.mesh import read_graph as read_graph
from swwl.mesh import read_mesh as read_mesh
from swwl.mesh import read_series as read_series
from swwl.mesh import with_labels as with_labels
from swwl.mesh import write_graph as write_graph
from swwl.regression import RobustGPRegressor as RobustGPRegressor
from swwl.regression.curves import CurveRegressor as CurveRegressor
from swwl.storage.modelfile import load_model as load_model
from swwl.tables import read_table as read_table

__version__: str
__all__: list[str]
