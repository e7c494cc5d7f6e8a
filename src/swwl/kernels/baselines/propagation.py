r"""The propagation kernel on continuous attributes, by GraKeL."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from swwl.errors import InputError, renamed_arguments
from swwl.kernels.baselines.common import GramBaseline, for_grakel, plain_matrix, require
from swwl.mesh.graph import Graph
from swwl.parallel import Progress
from swwl.storage import storable

_METRICS = ("L1", "L2")


@storable
class Propagation(GramBaseline):
    r"""The propagation kernel: nodes that fall into the same bins while their features diffuse.

    .. math:: k(G, G') = \sum_{t < T} \sum_b n_b(F^{(t)}) \, n_b(F'^{(t)}), \quad F^{(t+1)} = D^{-1} A F^{(t)},

    with :math:`n_b` the number of nodes in bin b, a cell of a randomly scaled and shifted grid of width w drawn
    again for every t. Positive definite. Needs GraKeL, of the extra ``baselines``.

    Parameters
    ----------
    column : str
        Name of a column of graphs.
    t_max : int
        Number of iterations, T.
    w : float
        Width of the bins.
    metric : {"L1", "L2"}
        The norm that the binning preserves: Cauchy or Gaussian scales.
    random_state : int
        Draws the bins.
    normalize : bool
        Whether to divide by the root of both self-similarities.
    alpha : float
        Of the induced distance in a Gaussian process, in (0, 2]; :class:`swwl.GraphSVC` uses the kernel itself.
    scale, fields, n_jobs
        See :class:`WWL`.

    Notes
    -----
    An isolated node's features become zero after one iteration, as GraKeL has it. Edge weights count.

    References
    ----------
    Neumann, Garnett, Bauckhage and Kersting (2016), "Propagation kernels: efficient graph kernels from propagated
    information". Siglidis et al. (2020), "GraKeL: a graph kernel library in Python".

    Examples
    --------
    >>> Propagation("mesh", t_max=3)
    Propagation('mesh', t_max=3)
    """

    @renamed_arguments(exponent="alpha")
    def __init__(
        self,
        column: str = "graph",
        *,
        t_max: int = 5,
        w: float = 0.01,
        metric: str = "L1",
        random_state: int = 0,
        normalize: bool = True,
        alpha: float = 2.0,
        scale: Any = False,
        fields: Sequence[str] = (),
        n_jobs: int | None = None,
    ):
        self.column = column
        self.t_max = t_max
        self.w = w
        self.metric = metric
        self.random_state = random_state
        self.normalize = normalize
        self.alpha = alpha
        self.scale = scale
        self.fields = fields
        self.n_jobs = n_jobs

    def prepare(self, graph: Graph) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any] | None]:
        """Return features (n, d), edges (m, 2) and edge weights (m,) or None."""
        return graph.features, graph.edges, graph.weights

    def raw_gram(
        self, first: list[Any], second: list[Any] | None = None
    ) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
        """Return the kernel, (N, M), and the self-similarities of both sides."""
        graphs = first if second is None else [*first, *second]
        counts = bin_counts(graphs, self.t_max, self.w, self.metric, self.random_state)
        own = np.asarray(counts.multiply(counts).sum(axis=1)).ravel()
        left, right = counts[: len(first)], counts if second is None else counts[len(first) :]
        right_own = own if second is None else own[len(first) :]
        if self._progress is not None:
            self._progress(len(first) * right.shape[0], len(first) * right.shape[0])
        return (left @ right.T).toarray(), own[: len(first)], right_own

    def _check(self) -> None:
        super()._check()
        require("grakel", "Propagation")
        if self.metric not in _METRICS:
            raise InputError(f"metric must be one of {list(_METRICS)}, not {self.metric!r}.")


def bin_counts(graphs: list[Any], t_max: int, w: float, metric: str, random_state: int) -> sparse.csr_array:
    """Return how many nodes of every graph fall into every bin of every iteration, (N, bins).

    Products of rows are GraKeL's kernel values. Bins depend on the seed and on the number of features alone, so graphs
    counted in different calls have the same values.

    Parameters
    ----------
    graphs : list of (features, edges, edge weights or None)
    t_max, w, metric, random_state
        See :class:`Propagation`.
    """
    grakel = require("grakel", "Propagation")
    kernel = grakel.PropagationAttr(t_max=int(t_max), w=float(w), M=metric, random_state=random_state)
    parsed = kernel.fit([for_grakel(*graph) for graph in graphs]).X
    rows, columns, values = [], [], []
    columns_of: dict[tuple[int, int], int] = {}
    for row, counters in enumerate(parsed):
        for t, counter in counters.items():
            for place, count in counter.items():
                rows.append(row)
                columns.append(columns_of.setdefault((t, int(place)), len(columns_of)))
                values.append(count)
    shape = (len(graphs), len(columns_of))
    return sparse.coo_array((np.array(values, float), (rows, columns)), shape=shape).tocsr()


def propagation_gram(
    graphs: Any, others: Any = None, *, progress: Progress | None = None, **options: Any
) -> NDArray[np.float64]:
    """Return the propagation kernel between graphs, (N, N) or (N, M).

    Parameters
    ----------
    graphs, others, progress
        See :func:`wwl_distances`.
    **options
        Those of :class:`Propagation`.
    """
    return plain_matrix(Propagation(**options), graphs, others, progress)
