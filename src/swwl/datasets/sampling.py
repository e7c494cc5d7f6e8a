"""Space-filling designs: ranges and a seed -> the inputs of sample 0, 1, 2, ...

A scrambled Sobol sequence, so a longer design begins with a shorter one. Inputs that turn out to have no
solution are drawn again from a stream of their own, so that sample i depends on the seed and on i alone.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from scipy.stats import qmc

from swwl.datasets.types import Floats

Ranges = Mapping[str, tuple[float, float]]


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
