"""Checks of what the user hands over: every error names the culprit, what was found and what is expected."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from swwl.errors import InputError
from swwl.gp.blocks import Block, Coordinates, Distances
from swwl.gp.correlations import Array, Correlation, CorrelationName, get_correlation
from swwl.gp.factors import Term
from swwl.gp.joint import Joint, coordinates_of, layout_of, parts_of, with_coordinates

_TRENDS = ("constant", "zero", "linear", "columns")

BlockLike = Block | ArrayLike  # an array holds distances


class Centered(NamedTuple):
    """Training coordinates of one group about their mean: ``values`` (N, k) and ``center`` (k,)."""

    values: Array
    center: Array


def item_name(i: int, total: int, names: Sequence[str] | None) -> str:
    """Say which factor is meant: by its name where there is one, and by its place."""
    own = f" ({names[i]!r})" if names is not None else ""
    return f"factor {i}{own} of {total}"


def check_names(names: Sequence[str] | None, count: int) -> None:
    """Check that there are as many names as factors."""
    if names is not None and len(names) != count:
        raise InputError(f"names has {len(names)} entries, but there are {count} correlations.")


def check_correlations(correlations: Sequence[CorrelationName]) -> list[Correlation]:
    """Look up every correlation."""
    if isinstance(correlations, str):
        raise InputError(f"correlations is the string {correlations!r}, but a list is expected: [{correlations!r}].")
    if len(correlations) == 0:
        raise InputError("correlations is empty, but at least one is expected.")
    return [get_correlation(c) for c in correlations]


def check_method(method: str) -> None:
    """Check what is to be maximized."""
    if method not in ("posterior", "marginal", "likelihood"):
        raise InputError(f"method is {method!r}, but 'posterior', 'marginal' or 'likelihood' is expected.")


def check_targets(targets: ArrayLike) -> Array:
    """Return y as floats of shape (N,) or (N, k), finite and not constant."""
    y = np.asarray(targets, dtype=float)
    if y.ndim not in (1, 2) or y.size == 0:
        raise InputError(f"y has shape {y.shape}, but (N,) or (N, k) is expected.")
    if not np.isfinite(y).all():
        row = int(np.argwhere(~np.isfinite(y))[0][0])
        raise InputError(f"y[{row}] is {y[row]}, but all targets must be finite: drop or fill that row.")
    for j, column in enumerate(y.reshape(len(y), -1).T):
        if np.ptp(column) == 0.0:
            which = "y" if y.ndim == 1 else f"column {j} of y"
            raise InputError(f"{which} is constant ({column[0]:g}), so there is nothing to learn.")
    return y


def _check_finite_distances(d: Array, who: str) -> None:
    low, high = d.min(initial=0.0), d.max(initial=0.0)  # NaN and infinities reach min or max
    if not (np.isfinite(low) and np.isfinite(high)):
        at = tuple(int(i) for i in np.argwhere(~np.isfinite(d))[0])
        raise InputError(f"The distances of {who} hold {d[at]} at {at}, but they must be finite.")
    if low < 0.0:
        at = tuple(int(i) for i in np.unravel_index(np.argmin(d), d.shape))
        raise InputError(f"The distances of {who} hold {low:g} at {at}, but they must not be negative.")


def _check_symmetric(d: Array, who: str) -> None:
    if d.shape[0] != d.shape[1]:
        raise InputError(f"The distances of {who} have shape {d.shape}, but a square matrix is expected.")
    tolerance = 1e-6 * d.max(initial=0.0)
    diagonal = np.abs(np.diag(d)).max(initial=0.0)
    if diagonal > tolerance:
        raise InputError(f"The distances of {who} hold {diagonal:g} on the diagonal, but 0 is expected.")
    for i in range(0, len(d), 256):  # by blocks: no second matrix for the difference
        gap = np.abs(d[i : i + 256, : i + 256] - d[: i + 256, i : i + 256].T)
        if gap.max(initial=0.0) > tolerance:
            row, column = (int(v) for v in np.unravel_index(np.argmax(gap), gap.shape))
            row += i
            raise InputError(
                f"The distances of {who} are not symmetric: {d[row, column]:g} at ({row}, {column}) "
                f"but {d[column, row]:g} at ({column}, {row})."
            )


def as_block(item: BlockLike, who: str, wanted: str, *, symmetric: bool) -> Block:
    """Return an item of ``fit`` or ``predict`` as a block; arrays are distances, kept by reference."""
    if isinstance(item, Joint):
        parts = [as_block(part, who, wanted, symmetric=symmetric) for part in item.parts]
        return item.with_parts(parts)
    if isinstance(item, Block) and not isinstance(item, Distances):
        return item
    d = np.ascontiguousarray(item.matrix if isinstance(item, Distances) else item, dtype=float)
    if d.ndim != 2:
        raise InputError(f"The distances of {who} have shape {d.shape}, but {wanted} is expected.")
    if isinstance(item, Distances) and d is item.matrix and item.symmetric == symmetric:
        return item
    return Distances(d, symmetric=symmetric)


def check_count(items: Sequence[BlockLike | None], count: int, what: str) -> None:
    """Check that there is one item per correlation."""
    if isinstance(items, Block) or (isinstance(items, np.ndarray) and items.ndim != 3):
        raise InputError(f"{what} is one array, but a list with one item per correlation is expected.")
    if len(items) != count:
        raise InputError(f"{what} has {len(items)} items, but {count} are expected: one per correlation.")


def training_terms(
    items: Sequence[BlockLike], correlations: Sequence[Correlation], n: int, names: Sequence[str] | None = None
) -> tuple[list[Term], dict[int, Centered]]:
    """Check the items of ``fit`` and bind them to their correlations.

    Returns
    -------
    terms : list of Term
        Coordinates are centered: their differences then keep more digits.
    coordinates : dict
        For each factor with coordinates its place -> all of them, centered.
    """
    check_count(items, len(correlations), "distances")
    terms, coordinates = [], {}
    for i, (item, correlation) in enumerate(zip(items, correlations, strict=True)):
        who = item_name(i, len(correlations), names)
        block = as_block(item, who, "(N, N)", symmetric=True)
        for part, name in _named_parts(block, who):
            if isinstance(part, Coordinates):
                _check_coordinates(part, name, n)
                continue
            _check_among(part, name)
            if part.shape[0] != n:
                raise InputError(f"The distances of {name} have shape {part.shape}, but y has {n} rows.")
        z = coordinates_of(block)
        if z is not None:
            center = z.mean(axis=0)
            coordinates[i] = Centered(z - center, center)
            block = with_coordinates(block, coordinates[i].values)
        terms.append(Term(correlation, block))
    return terms, coordinates


def _named_parts(block: Block, who: str) -> list[tuple[Block, str]]:
    """Return the parts of a block with their names for messages."""
    if not isinstance(block, Joint):
        return [(block, who)]
    return [(part, f"part {j} of {who}") for j, part in enumerate(block.parts)]


def _check_among(block: Block, who: str) -> None:
    """Check distances among one set of points; those that are still to be computed are right by construction."""
    if isinstance(block, Distances):
        _check_finite_distances(block.matrix, who)
        _check_symmetric(block.matrix, who)
    elif not block.symmetric:
        raise InputError(f"The distances of {who} are between two sets of points, but those among one are expected.")


def _check_coordinates(block: Coordinates, who: str, n: int | None = None, k: int | None = None) -> Array:
    z = block.values
    if z.ndim != 2 or z.shape[1] == 0:
        raise InputError(f"The coordinates of {who} have shape {z.shape}, but (N, k) with k > 0 is expected.")
    if not np.isfinite(z).all():
        at = tuple(int(i) for i in np.argwhere(~np.isfinite(z))[0])
        raise InputError(f"The coordinates of {who} hold {z[at]} at {at}, but they must be finite.")
    if n is not None and len(z) != n:
        raise InputError(f"The coordinates of {who} have {len(z)} rows, but {n} are expected.")
    if k is not None and z.shape[1] != k:
        raise InputError(f"The coordinates of {who} have {z.shape[1]} columns, but fit saw {k}.")
    return z


def range_labels(terms: Sequence[Term], names: Sequence[str] | None) -> list[str]:
    """Name every range for messages."""
    labels: list[str] = []
    for i, term in enumerate(terms):
        name = item_name(i, len(terms), names)
        if isinstance(term.block, Joint) and term.block.names is not None:
            labels += [repr(own) for own in term.block.names]
            continue
        for part, own in _named_parts(term.block, name):
            columns = range(part.n_ranges) if isinstance(part, Coordinates) else ()
            labels += [f"column {k} of {own}" for k in columns] or [own]
    return labels


def trend_matrix(trend: str, columns: ArrayLike | None, n: int) -> Array:
    """Return the trend's columns, shape (n, q).

    Parameters
    ----------
    trend : {"constant", "zero", "linear", "columns"}
        "linear" puts a constant before the given columns; "columns" takes them as they are.
    columns : array-like of shape (n, m) or (n,), or None

    Examples
    --------
    >>> trend_matrix("linear", [2.0, 3.0], 2).tolist()
    [[1.0, 2.0], [1.0, 3.0]]
    """
    if trend not in _TRENDS:
        raise InputError(f"trend is {trend!r}, but one of {_TRENDS} is expected.")
    if trend in ("constant", "zero"):
        if columns is not None:
            raise InputError(f"trend_columns are given, but trend={trend!r} does not use them: "
                             "set trend='linear' or trend='columns'.")  # fmt: skip
        return np.ones((n, 1 if trend == "constant" else 0))
    if columns is None:
        raise InputError(f"trend={trend!r} needs trend_columns, an array of shape ({n}, q), but got none.")
    h = np.asarray(columns, dtype=float)
    h = h[:, None] if h.ndim == 1 else h
    if h.ndim != 2 or len(h) != n:
        raise InputError(f"trend_columns has shape {h.shape}, but {n} rows are expected.")
    if not np.isfinite(h).all():
        raise InputError("trend_columns holds values that are not finite.")
    return np.hstack([np.ones((n, 1)), h]) if trend == "linear" else np.ascontiguousarray(h)


def independent_columns(trend: Array) -> list[int]:
    """Return which columns of a trend (n, q) do not depend on those before them; at most n - 2, which can be estimated.

    Examples
    --------
    >>> independent_columns(np.array([[1.0, 0.0, 2.0], [1.0, 0.0, 3.0], [1.0, 0.0, 5.0], [1.0, 0.0, 4.0]]))
    [0, 2]
    """
    n, q = trend.shape
    if np.linalg.matrix_rank(trend) == q <= n - 2:
        return list(range(q))
    kept: list[int] = []
    for column in range(q):
        if len(kept) < n - 2 and np.linalg.matrix_rank(trend[:, [*kept, column]]) > len(kept):
            kept.append(column)
    return kept


def learnable(trend: Array, y: Array) -> NDArray[np.bool_]:
    """Return which targets (n, k) a trend (n, q) and a constant leave something to learn of, (k,).

    Examples
    --------
    >>> ones = np.ones((3, 1))
    >>> learnable(ones, np.array([[1.0, 4.0], [2.0, 4.0], [4.0, 4.0]])).tolist()
    [True, False]
    """
    return np.asarray((np.ptp(y, axis=0) > 0) & ~_reproduced(trend, y))


def _reproduced(trend: Array, y: Array) -> NDArray[np.bool_]:
    if not trend.shape[1]:
        return np.zeros(y.shape[1], dtype=bool)
    residual = y - trend @ np.linalg.lstsq(trend, y, rcond=None)[0]
    return np.asarray(np.abs(residual).max(axis=0) <= 1e-12 * np.abs(y).max(axis=0))


def check_trend_fits(trend: Array, y: Array) -> None:
    """Check that the trend leaves something to estimate: enough rows, full rank, a residual."""
    n, q = trend.shape
    if n < q + 2:
        raise InputError(f"There are {n} training points, but a trend of {q} columns needs at least {q + 2}.")
    if q and np.linalg.matrix_rank(trend) < q:
        raise InputError(f"The {q} trend columns are linearly dependent: drop one.")
    exact = _reproduced(trend, y)
    if exact.any():
        raise InputError(f"The trend reproduces column {int(np.argmax(exact))} of y exactly: "
                         "there is nothing left for the process to learn.")  # fmt: skip


def check_noise(noise: ArrayLike | None, trend: Array, solver: str) -> Array | None:
    """Return the noise of the rows of a trend (N, q); None where there is none at all."""
    if noise is None:
        return None
    n, q = trend.shape
    values = np.array(noise, dtype=float)
    if values.shape != (n,) or not np.isfinite(values).all() or (values < 0.0).any():
        raise InputError(f"noise has shape {values.shape}, but {n} finite numbers of at least 0 are expected.")
    if not values.any():
        return None
    if solver != "exact":
        raise InputError(f"noise is set, but solver={solver!r} does not support it: use solver='exact'.")
    counted = int((values == 0.0).sum())
    if counted < q + 2:
        raise InputError(f"{counted} of {n} rows have no noise, but a trend of {q} columns needs at least {q + 2}.")
    return values


def check_nugget(nugget: float | str, floor: float) -> float | None:
    """Return a fixed nugget, or None where it is to be estimated."""
    if isinstance(floor, str) or floor is None or not float(floor) >= 0.0:
        raise InputError(f"nugget_floor is {floor!r}, but a number of at least 0 is expected.")
    if isinstance(nugget, str):
        if nugget != "estimate":
            raise InputError(f"nugget is {nugget!r}, but 'estimate' or a number is expected.")
        return None
    if nugget is None or not np.isfinite(nugget) or nugget < 0.0:
        raise InputError(f"nugget is {nugget!r}, but 'estimate' or a number of at least 0 is expected.")
    return float(nugget)


def check_positive(values: ArrayLike, p: int, what: str) -> Array:
    """Return ``values`` as p positive floats."""
    out = np.asarray(values, dtype=float)
    if out.shape not in ((), (1,), (p,)) or not (out > 0.0).all():
        raise InputError(f"{what} is {values!r}, but one positive number or {p} of them are expected.")
    return np.broadcast_to(out, (p,)).copy()


@dataclass(frozen=True)
class TrainingInputs:
    """What a fitted process knows of its inputs: enough to check those of new points and to bind them.

    Attributes
    ----------
    correlations : list of Correlation
    coordinates : dict
        For each factor with coordinates its place -> all of them, centered.
    layouts : list of tuple of int
        What each factor is made of, see `swwl.gp.joint.layout_of`.
    n : int
        Training points.
    trend : str
    names : sequence of str or None
    kept : list of int, optional
        Which columns of the trend were used, where some were dropped.
    """

    correlations: list[Correlation]
    coordinates: dict[int, Centered]
    layouts: list[tuple[int, ...]]
    n: int
    trend: str
    names: Sequence[str] | None
    kept: list[int] | None = None

    @property
    def range_slices(self) -> list[slice]:
        """Which ranges belong to each factor."""
        widths = [sum(max(width, 1) for width in layout) for layout in self.layouts]
        ends = np.cumsum([0, *widths]).tolist()
        return [slice(a, b) for a, b in zip(ends[:-1], ends[1:], strict=True)]

    def cross(self, items: Sequence[BlockLike]) -> tuple[list[Term], int]:
        """Check the items of ``predict``, (M, n) distances or coordinates of M rows, and return them with M."""
        count, n, terms = len(self.correlations), self.n, []
        check_count(items, count, "distances")
        for i, (item, correlation) in enumerate(zip(items, self.correlations, strict=True)):
            who = item_name(i, count, self.names)
            block = as_block(item, who, f"(M, {n})", symmetric=False)
            self._check_layout(block, i, who)
            for part, name in _named_parts(block, who):
                if isinstance(part, Coordinates):
                    continue
                if part.shape[1] != n:
                    raise InputError(
                        f"The new distances of {name} have shape {part.shape}, but (M, {n}) is expected: "
                        f"a row per new point, a column per training point."
                    )
                if isinstance(part, Distances):
                    _check_finite_distances(part.matrix, name)
            z = coordinates_of(block)
            if z is not None:
                block = with_coordinates(block, z - self.coordinates[i].center, self.coordinates[i].values)
            terms.append(Term(correlation, block))
            m, m0 = block.shape[0], terms[0].block.shape[0]
            if m != m0:
                raise InputError(f"{who} has {m} new rows, but factor 0 has {m0}.")
        return terms, m0

    def _check_layout(self, block: Block, i: int, who: str) -> None:
        """Check that new points have what factor ``i`` was fitted on: coordinates and distances in the same order."""
        wanted = self.layouts[i]
        parts = [(part, name) for part, name in _named_parts(block, who) if isinstance(part, Coordinates)]
        if len(wanted) == 1 and not isinstance(block, Joint):
            if bool(wanted[0]) != bool(parts):
                kind = "Coordinates" if wanted[0] else "distances"
                raise InputError(f"{who} was fitted on {kind}, so {kind} are needed to predict.")
            if parts:
                _check_coordinates(*parts[0], k=wanted[0])
            return
        for part, name in parts:
            _check_coordinates(part, name)
        found = layout_of(block)
        if found != wanted:
            raise InputError(f"{who} was fitted on {_made_of(wanted)}, but the new points have {_made_of(found)}.")

    def among(self, items: Sequence[BlockLike | None] | None, cross: Sequence[Term], m: int) -> list[Term]:
        """Check (m, m) distances among new points; None where these know their own, as coordinates do."""
        items = [None] * len(cross) if items is None else items
        check_count(items, len(cross), "test_distances")
        terms = []
        for i, (item, term) in enumerate(zip(items, cross, strict=True)):
            who = item_name(i, len(cross), self.names)
            block = _block_among(item, term.block, who, m)
            terms.append(Term(term.correlation, block))
        return terms

    def new_trend(self, columns: ArrayLike | None, m: int, q: int) -> Array:
        """Return the trend's columns of m new points, shape (m, q)."""
        trend = trend_matrix(self.trend, columns, m)
        trend = trend if self.kept is None else trend[:, self.kept]
        if trend.shape[1] != q:
            raise InputError(f"The trend has {trend.shape[1]} columns, but fit saw {q}.")
        return trend


def _made_of(layout: tuple[int, ...]) -> str:
    return " + ".join(f"{width} coordinates" if width else "distances" for width in layout)


def _block_among(item: BlockLike | None, cross: Block, who: str, m: int) -> Block:
    """Return the block among m new points: coordinates know their distances, others may be told by ``item``."""
    told = () if item is None else parts_of(as_block(item, who, f"({m}, {m})", symmetric=True))
    told = tuple(part for part in told if not isinstance(part, Coordinates))
    places = [j for j, part in enumerate(parts_of(cross)) if not isinstance(part, Coordinates)]
    if told and places and len(told) != len(places):
        raise InputError(
            f"test_distances of {who} holds {len(told)} blocks of distances, but {len(places)} are expected."
        )
    known = dict(zip(places, told, strict=False))
    parts: list[Block] = []
    for j, (part, name) in enumerate(_named_parts(cross, who)):
        block = known[j] if j in known else part.among()
        if block is None:
            raise InputError(
                f"A joint prediction needs test_distances, the (M, M) distances among the new points, of {name}."
            )
        if block.shape != (m, m):
            raise InputError(f"test_distances of {name} has shape {block.shape}, but ({m}, {m}) is expected.")
        if j in places:
            _check_among(block, name)
        parts.append(block)
    return Joint(parts, cross.names) if isinstance(cross, Joint) else parts[0]
