"""One field of a fitted :class:`swwl.FieldRegressor`: its scale, basis, modes and processes, and what they predict."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import norm

from swwl.errors import InputError
from swwl.fields.basis import Basis, chunks
from swwl.fields.geometry.descriptors import Recipe
from swwl.fields.modes import Modes
from swwl.fields.numbers import NumberErrors
from swwl.fields.values import FieldKind
from swwl.fields.warps import Warp
from swwl.gp import RobustGP
from swwl.gp.blocks import Block
from swwl.gp.prediction import to_std
from swwl.regression.stack import Member

Array = NDArray[np.float64]

# Parts of fold errors below which intervals of other levels are read off.
LEVELS = np.append(np.arange(0.01, 0.99, 0.01), [0.99, 0.995, 0.999])
_USUAL = 0.95


@dataclass
class FieldModel:
    """All that predicts one field.

    Attributes
    ----------
    kind : FieldKind
    warp : Warp
    recipe : dict of str to float
        Weights of descriptors; empty for meshes that share their cells.
    basis : Basis or None
        None for meshes that share their cells.
    modes : Modes
    member : Member
        The kernel on meshes and numbers, and processes of the modes: one for each of the leading ones, the last for
        all others.
    truncation : ndarray of shape (M, c)
        Variance that modes leave, by nearest center or by node, on the standardized scale.
    widths : ndarray of shape (levels,)
        How many standard deviations, before calibration, held each of ``LEVELS`` of the errors in folds.
    numbers : dict of str to NumberErrors
        How far derived numbers of left-out meshes lay from those of samples, by name; empty without calibration.
    """

    kind: FieldKind
    warp: Warp
    recipe: Recipe
    basis: Basis | None
    modes: Modes
    member: Member
    truncation: Array
    widths: Array
    numbers: dict[str, NumberErrors] = field(default_factory=dict)

    @property
    def factor(self) -> float:
        """By how much standard deviations are wider than those of modes and truncation."""
        return self.width(_USUAL) / float(norm.ppf(0.5 + _USUAL / 2))

    def width(self, level: float) -> float:
        """Return how many uncalibrated standard deviations the half of an interval has."""
        if not 0 < level < 1:
            raise InputError(f"level is {level!r}, but a number between 0 and 1 is wanted.")
        if level <= LEVELS[-1]:
            return float(np.interp(level, np.append(0.0, LEVELS), np.append(0.0, self.widths)))
        return float(self.widths[-1] * norm.ppf(0.5 + level / 2) / norm.ppf(0.5 + LEVELS[-1] / 2))

    def sizes(self, cross: Sequence[Block], m: int) -> tuple[Array, Array]:
        """Return mean and standard deviation of the sizes of modes on m new meshes, (m, K) each."""
        return predict_sizes(self.member.gps, cross, m)

    def pieces(self, descriptors: Array | None, n: int) -> Iterator[tuple[slice, Array | None, NDArray[np.intp]]]:
        """Yield some nodes of a mesh at a time: which, the basis there or None, and the places of their truncation."""
        for part in chunks(n):
            if self.basis is None or descriptors is None:
                yield part, None, np.arange(part.start, part.stop)
            else:
                yield part, self.basis(descriptors[part]), self.basis.places(descriptors[part])

    def at_nodes(self, descriptors: Array | None, n: int, mean: Array, std: Array) -> tuple[Array, Array]:
        """Return the standardized field and its uncalibrated standard deviation at all nodes of a mesh, (n, c) each.

        Parameters
        ----------
        descriptors : ndarray of shape (n, D) or None
        n : int
        mean, std : ndarray of shape (K,)
            Of the sizes of modes.
        """
        c = self.kind.components
        y, sd = np.empty((n, c)), np.empty((n, c))
        for part, phi, places in self.pieces(descriptors, n):
            y[part], sd[part] = field_at(self._modes_at(part, phi), mean, std, self.truncation[places])
        return y, sd

    def _modes_at(self, part: slice, phi: Array | None) -> tuple[Array, Array]:
        if phi is not None:
            return self.modes.at(phi)
        mean, shapes = self.modes.at(None)
        return mean[part], shapes[part]

    def draw(
        self, descriptors: Array | None, n: int, mean: Array, std: Array, n_samples: int, rng: np.random.Generator
    ) -> Array:
        """Draw whole standardized fields, (n_samples, n, c).

        Modes are independent. What they leave is drawn as a smooth function of the basis; for meshes that share
        their cells it is left out.
        """
        c, out = self.kind.components, np.empty((n_samples, n, self.kind.components))
        sizes = mean + self.factor * std * rng.standard_normal((n_samples, len(mean)))
        rough = rng.standard_normal((n_samples, c, self.modes.mean.shape[1])) if self.basis is not None else None
        for part, phi, places in self.pieces(descriptors, n):
            base, shapes = self._modes_at(part, phi)
            out[:, part] = base + np.einsum("nck,sk->snc", shapes, sizes, optimize=True)
            if phi is not None and rough is not None:
                noise = np.einsum("nm,scm->snc", phi, rough, optimize=True)
                out[:, part] += self.factor * np.sqrt(self.truncation[places]) * noise
        return out

    def bounds(self, y: Array, sd: Array, level: float) -> tuple[Array, Array]:
        """Return the bounds of intervals in the units of the field, of the shape of ``y``."""
        half = self.width(level) * sd
        ends = self.warp.inverse(y - half), self.warp.inverse(y + half)
        return ends[::-1] if self.warp.falls else ends

    def deviation(self, y: Array, sd: Array) -> Array:
        """Return calibrated standard deviations in the units of the field."""
        return self.factor * sd * self.warp.slope(y)

    def number(self, name: Any, drawn: Array, level: float) -> dict[str, Array]:
        """Return ``mean``, ``std``, ``lower`` and ``upper`` of a derived number.

        Parameters
        ----------
        name : str or callable
        drawn : ndarray of shape (m, S) or (m, S, k)
            The number of every sample, on m meshes.
        level : float
        """
        if isinstance(name, str) and name in self.numbers and len(drawn):
            found = self.numbers[name].interval(drawn.reshape(*drawn.shape[:2], -1), level)
            parts = [part[:, 0] if drawn.ndim == 2 else part for part in found]
        else:
            ends = np.quantile(drawn, [0.5 - level / 2, 0.5 + level / 2], axis=1) if len(drawn) else drawn[None][[0, 0]]
            parts = [drawn.mean(axis=1), drawn.std(axis=1, ddof=min(1, drawn.shape[1] - 1)), *ends]
        return dict(zip(("mean", "std", "lower", "upper"), parts, strict=True))


def predict_sizes(gps: Sequence[RobustGP], cross: Sequence[Block], m: int) -> tuple[Array, Array]:
    """Return mean and standard deviation of the sizes of modes, (m, K) each, from the processes of all groups."""
    found = [gp.predict_distribution(cross).columns() for gp in gps]
    if not found:
        return np.empty((m, 0)), np.empty((m, 0))
    std = [part.scale * (to_std(np.ones(1), part.df)[0] if part.df > 2 else 1.0) for part in found]
    return np.hstack([part.mean for part in found]), np.hstack(std)


def field_at(modes: tuple[Array, Array], mean: Array, std: Array, truncation: Array) -> tuple[Array, Array]:
    """Return a field and its standard deviation at nodes, (n, c) each, of independent modes.

    Parameters
    ----------
    modes : tuple of ndarray of shape (n, c) and (n, c, K)
    mean, std : ndarray of shape (K,)
    truncation : ndarray of shape (n, c)
        Variances.
    """
    base, shapes = modes
    return base + shapes @ mean, np.sqrt(shapes**2 @ std**2 + truncation)
