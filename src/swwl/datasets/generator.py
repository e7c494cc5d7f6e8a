"""What the simulations have in common: a `Generator` describes one kind, `run` makes samples of it.

Inputs come from a scrambled Sobol sequence (`draw`); where the model has no solution, others are drawn (`redraw`).
The physics live in ``tensile2d``, ``airfoil``, ``blade``, ``capacitor`` and ``channel``; ``generated.py`` makes tables
and folders.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from numbers import Integral
from typing import Any, TypeAlias, TypeVar

import joblib
import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.stats import qmc

from swwl.errors import InputError
from swwl.mesh.mesh import Mesh
from swwl.parallel import one_blas_thread

Floats: TypeAlias = NDArray[np.float64]
Ints: TypeAlias = NDArray[np.integer]
Complexes: TypeAlias = NDArray[np.complex128]
Ranges = Mapping[str, tuple[float, float]]
Result = TypeVar("Result")

MAX_REDRAWS = 50
_TOPOLOGY_STREAM = 2**32  # no redraw counts that far: the stream of random numbers that draws a mesh's resolution


class Unsolvable(RuntimeError):
    """The model has no solution for these inputs (no convergence, choked, separated ...): draw others."""


@dataclass(frozen=True)
class Simulation:
    """A mesh with the fields on its nodes, and the numbers to predict.

    Attributes
    ----------
    mesh : Mesh
        Its points, cells and fields can also be had from the simulation itself, which `swwl.as_graph` takes.
    targets : dict of str to float
    """

    mesh: Mesh
    targets: dict[str, float]

    @property
    def points(self) -> Floats:
        """Points of the mesh, (n, 2) or (n, 3)."""
        return self.mesh.points

    @property
    def cells(self) -> Mapping[str, NDArray[np.int32]]:
        """Cells of the mesh by type, here always ``"triangle"``."""
        return self.mesh.cells

    @property
    def fields(self) -> Mapping[str, NDArray[Any]]:
        """Values (n,) at the nodes by name."""
        return self.mesh.fields


@dataclass(frozen=True)
class Sample(Simulation):
    """A simulation with its number in the design and the inputs that made it.

    Attributes
    ----------
    index : int
        Position in the design, from 0.
    scalars : dict of str to float
        The operating conditions or material constants: inputs of a model beside the mesh.
    shape : dict of str to float
        The parameters that drew the geometry: known here, hidden from a model that sees the mesh.
    redraws : int
        How often the inputs were drawn again because the model had no solution.
    """

    index: int
    scalars: dict[str, float]
    shape: dict[str, float]
    redraws: int


@dataclass(frozen=True)
class Generator:
    """A kind of simulation.

    Attributes
    ----------
    name : str
    model : str
        One sentence that says which model it is.
    scalars, shape : mapping of str to (low, high)
        Ranges of the inputs that a table shows, and of those that only the mesh shows.
    targets : tuple of str
    simulate : callable
        ``simulate(inputs, n_nodes, aspect)`` with all inputs by name, the requested number of nodes, and the
        cells' length in one direction over that in the other, relative to the usual; returns a `Simulation`
        or raises `Unsolvable`.
    n_nodes : int
        Usual number of nodes.
    node_limits : (int, int)
        Numbers of nodes that the mesher is tested for.
    """

    name: str
    model: str
    scalars: Ranges
    shape: Ranges
    targets: tuple[str, ...]
    simulate: Callable[[Mapping[str, float], int, float], Simulation]
    n_nodes: int
    node_limits: tuple[int, int]

    @property
    def ranges(self) -> Ranges:
        """Ranges of all inputs, scalars first."""
        return {**self.scalars, **self.shape}


@dataclass(frozen=True)
class Request:
    """What is asked of a generator; checked when made.

    Attributes
    ----------
    generator : Generator
    n_nodes : int
    random_state : int
        The seed of all random numbers.
    random_topology : bool
        Mesh every sample at a resolution of its own.
    """

    generator: Generator
    n_nodes: int
    random_state: int
    random_topology: bool

    def __post_init__(self) -> None:
        low, high = self.generator.node_limits
        if not low <= self.n_nodes <= high:
            raise InputError(
                f"The number of nodes must be from {low} to {high} for {self.generator.name}, found {self.n_nodes}."
            )
        if not isinstance(self.random_state, Integral) or not 0 <= self.random_state < 2**63:
            raise InputError(f"The seed must be a whole number of at least 0, found {self.random_state!r}.")


def draw(ranges: Ranges, n_samples: int, seed: int) -> list[dict[str, float]]:
    """Draw the inputs of the first `n_samples` samples.

    Examples
    --------
    >>> design = draw({"speed": (10.0, 20.0), "pressure": (1.0, 2.0)}, 4, seed=0)
    >>> sorted(int(inputs["speed"] // 2.5) for inputs in design)  # one in each quarter
    [4, 5, 6, 7]
    >>> design == draw({"speed": (10.0, 20.0), "pressure": (1.0, 2.0)}, 9, seed=0)[:4]
    True
    """
    sequence = qmc.Sobol(len(ranges), scramble=True, rng=np.random.default_rng(seed))
    # Whole powers of two keep SciPy from warning about balance; the first points are the same.
    unit = sequence.random_base2(max(n_samples - 1, 0).bit_length())[:n_samples]
    return [_scale(row, ranges) for row in unit]


def redraw(ranges: Ranges, seed: int, index: int, attempt: int) -> dict[str, float]:
    """Draw other inputs for one sample, uniformly; attempts count from 1.

    Examples
    --------
    >>> redraw({"speed": (10.0, 20.0)}, seed=0, index=7, attempt=1) == redraw(
    ...     {"speed": (10.0, 20.0)}, seed=0, index=7, attempt=2
    ... )
    False
    """
    return _scale(np.random.default_rng([seed, index, attempt]).random(len(ranges)), ranges)


def _scale(unit: Floats, ranges: Ranges) -> dict[str, float]:
    return {name: low + (high - low) * float(u) for u, (name, (low, high)) in zip(unit, ranges.items(), strict=True)}


def make_sample(request: Request, index: int, inputs: Mapping[str, float]) -> Sample:
    """Simulate one sample, with other inputs as long as there is no solution."""
    generator, seed = request.generator, int(request.random_state)
    n_nodes, aspect = request.n_nodes, 1.0
    if request.random_topology:
        n_nodes, aspect = _random_resolution(n_nodes, np.random.default_rng([seed, index, _TOPOLOGY_STREAM]))
    for attempt in range(MAX_REDRAWS + 1):
        if attempt:
            inputs = redraw(generator.ranges, seed, index, attempt)
        try:
            # One BLAS thread: the rounding must not depend on how many processes share the machine.
            with one_blas_thread():
                result = generator.simulate(inputs, n_nodes, aspect)
        except Unsolvable as failure:
            reason = failure
            continue
        return Sample(
            mesh=result.mesh.renamed(f"{generator.name} {index}"),
            targets=result.targets,
            index=index,
            scalars={name: inputs[name] for name in generator.scalars},
            shape={name: inputs[name] for name in generator.shape},
            redraws=attempt,
        )
    raise RuntimeError(f"Sample {index} of {generator.name} had no solution in {MAX_REDRAWS} redraws: {reason}")


def _random_resolution(n_nodes: int, rng: np.random.Generator) -> tuple[int, float]:
    """Between half and one and a half times the nodes, cells up to 1.4 times longer one way or the other."""
    return round(n_nodes * rng.uniform(0.5, 1.5)), float(np.exp(rng.uniform(-1, 1) * np.log(1.4)))


def run(
    request: Request, indices: list[int], finish: Callable[[Sample], Result], n_jobs: int | None = None
) -> Iterator[Result]:
    """Make samples, several at a time, and yield ``finish(sample)`` for each, in the order of `indices`.

    `finish` runs where the sample was made, in another process with several jobs, so that large meshes
    need not travel. Which process makes a sample does not change it.
    """
    if not indices:
        return
    design = draw(request.generator.ranges, max(indices) + 1, int(request.random_state))
    tasks = (joblib.delayed(_make_and_finish)(request, i, design[i], finish) for i in indices)
    yield from joblib.Parallel(n_jobs=n_jobs, return_as="generator")(tasks)


def _make_and_finish(
    request: Request, index: int, inputs: Mapping[str, float], finish: Callable[[Sample], Result]
) -> Result:
    return finish(make_sample(request, index, inputs))


def smoothed(points: Floats, triangles: Ints, n_fixed: int, passes: int) -> Floats:
    """Move every node but the first `n_fixed` to the mean of its neighbors, `passes` times.

    Examples
    --------
    >>> corners = np.array([[0.0, 0], [1, 0], [1, 1], [0, 1], [0.3, 0.4]])
    >>> smoothed(corners, np.array([[0, 1, 4], [1, 2, 4], [2, 3, 4], [3, 0, 4]]), 4, 1)[4].tolist()
    [0.5, 0.5]
    """
    n = len(points)
    start, end = triangles.ravel(), np.roll(triangles, -1, axis=1).ravel()
    adjacency = coo_array((np.ones(len(start)), (start, end)), shape=(n, n)).tocsr()
    adjacency = adjacency + adjacency.T
    adjacency.data[:] = 1.0
    degree = np.maximum(adjacency.sum(1), 1)[:, None]
    points = points.copy()
    for _ in range(passes):
        points[n_fixed:] = (adjacency @ points / degree)[n_fixed:]
    return points
