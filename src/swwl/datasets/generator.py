"""What the generators have in common: inputs from a design, a simulation of each, several at a time.

A physics package (``tensile2d``, ``airfoil``, ...) describes itself by a `Generator`; ``generated.py`` runs it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from numbers import Integral
from typing import TypeVar

import joblib
import numpy as np

from swwl.datasets.sample import Sample, Simulation, Unsolvable
from swwl.datasets.sampling import Ranges, draw, redraw
from swwl.errors import InputError
from swwl.parallel import one_blas_thread

Result = TypeVar("Result")

MAX_REDRAWS = 50
_TOPOLOGY_STREAM = 2**32  # no redraw counts that far: the stream of random numbers that draws a mesh's resolution


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
        ``simulate(inputs, n_nodes, aspect)`` with all inputs by name, the wanted number of nodes, and the
        cells' length in one direction over that in the other, relative to the usual; returns a `Simulation`
        or raises `Unsolvable`.
    n_nodes : int
        Usual number of nodes.
    node_limits : (int, int)
        Numbers of nodes that the mesher is tested for.
    """

    name: str
    model: str
    scalars: Mapping[str, tuple[float, float]]
    shape: Mapping[str, tuple[float, float]]
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
            raise InputError(f"The seed must be a whole number from 0 on, found {self.random_state!r}.")


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


def _random_resolution(n_nodes: int, rng: np.random.Generator) -> tuple[int, float]:
    """Between half and one and a half times the nodes, cells up to 1.4 times longer one way or the other."""
    return round(n_nodes * rng.uniform(0.5, 1.5)), float(np.exp(rng.uniform(-1, 1) * np.log(1.4)))
