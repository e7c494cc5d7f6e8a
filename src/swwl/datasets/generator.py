"""What the three generators have in common: inputs from a design, a simulation of each, several at a time.

A physics package (``tensile2d``, ``airfoil``, ``blade``) describes itself by a `Generator`; ``folder.py``
and the public functions of ``__init__.py`` run it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import joblib
import numpy as np
from threadpoolctl import threadpool_limits

from swwl.datasets.sample import Sample, Simulation, Unsolvable
from swwl.datasets.sampling import Ranges, draw, redraw
from swwl.errors import InputError

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
        ``simulate(inputs, nodes, aspect)`` with all inputs by name, the wanted number of nodes, and the
        cells' length in one direction over that in the other, relative to the usual; returns a `Simulation`
        or raises `Unsolvable`.
    nodes : int
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
    nodes: int
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
    nodes : int
    seed : int
    random_topology : bool
        Mesh every sample at a resolution of its own.
    """

    generator: Generator
    nodes: int
    seed: int
    random_topology: bool

    def __post_init__(self) -> None:
        low, high = self.generator.node_limits
        if not low <= self.nodes <= high:
            raise InputError(f"nodes must be from {low} to {high} for {self.generator.name}, found {self.nodes}.")
        if not 0 <= self.seed < 2**63:
            raise InputError(f"seed must be a whole number from 0 on, found {self.seed}.")


def make_sample(request: Request, index: int, inputs: Mapping[str, float]) -> Sample:
    """Simulate one sample, with other inputs as long as there is no solution."""
    generator, seed = request.generator, request.seed
    nodes, aspect = request.nodes, 1.0
    if request.random_topology:
        nodes, aspect = _random_resolution(nodes, np.random.default_rng([seed, index, _TOPOLOGY_STREAM]))
    for attempt in range(MAX_REDRAWS + 1):
        if attempt:
            inputs = redraw(generator.ranges, seed, index, attempt)
        try:
            # One BLAS thread: the rounding must not depend on how many processes share the machine.
            with threadpool_limits(1):
                result = generator.simulate(inputs, nodes, aspect)
        except Unsolvable as failure:
            reason = failure
            continue
        return Sample(
            points=result.points,
            cells=result.cells,
            fields=result.fields,
            targets=result.targets,
            index=index,
            scalars={name: inputs[name] for name in generator.scalars},
            shape={name: inputs[name] for name in generator.shape},
            redraws=attempt,
        )
    raise RuntimeError(f"Sample {index} of {generator.name} had no solution in {MAX_REDRAWS} redraws: {reason}")


def run(request: Request, indices: list[int], finish: Callable[[Sample], Any], jobs: int = 1) -> Iterator[Any]:
    """Make samples, several at a time, and yield ``finish(sample)`` for each, in the order of `indices`.

    `finish` runs where the sample was made, in another process when `jobs` is not 1, so that large meshes
    need not travel. Which process makes a sample does not change it.
    """
    if not indices:
        return
    design = draw(request.generator.ranges, max(indices) + 1, request.seed)
    tasks = (joblib.delayed(_make_and_finish)(request, i, design[i], finish) for i in indices)
    yield from joblib.Parallel(n_jobs=jobs, return_as="generator")(tasks)


def _make_and_finish(request: Request, index: int, inputs: Mapping[str, float], finish: Callable[[Sample], Any]) -> Any:
    return finish(make_sample(request, index, inputs))


def _random_resolution(nodes: int, rng: np.random.Generator) -> tuple[int, float]:
    """Between half and one and a half times the nodes, cells up to 1.4 times longer one way or the other."""
    return round(nodes * rng.uniform(0.5, 1.5)), float(np.exp(rng.uniform(-1, 1) * np.log(1.4)))
