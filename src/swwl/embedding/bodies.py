r"""BodyEmbedding: the bodies of meshes -> rows of numbers, however many bodies a mesh has.

Of a named group that is one body in every mesh, its numbers (``mesh/shape/bodies.py``) are the row. Where there are
several, a mesh is a set of points z, one for every body, and its row is a sum over them,

.. math:: \phi = \sum_b \bigl(\sqrt{w_j} \cos \omega_j \cdot z_b,\; \sqrt{w_j} \sin \omega_j \cdot z_b\bigr)_j ,

with frequencies along single numbers or along directions in the space of all of them. Distances of such rows are those
of the two distributions of bodies under a Gaussian kernel: they see how many there are, and which, in no order.

Numbers of groups may be followed by the resistances between pairs of them (``mesh/shape/conduction.py``).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from swwl.embedding.runner import Entry, bodies_of
from swwl.embedding.summaries import MOST_DEVIATIONS, SummaryEmbedding
from swwl.errors import InputError
from swwl.mesh.shape.bodies import body_names, n_own_numbers
from swwl.parallel import Progress
from swwl.storage.checks import Shape, Sizes, check_declared, shown
from swwl.storage.memory import Memory, MemoryLike
from swwl.storage.modelfile import storable

Array = NDArray[np.float64]

INNER = "inner boundary"  # what the bodies of meshes without groups are called
RESISTANCE = "resistance"
FORMS = ("numbers", "one by one", "together")
# Of the Gaussian kernel, in deviations of the bodies of the training meshes.
_LENGTH = 1.5
_FREQUENCIES, _DIRECTIONS = 6, 128
_LEAST_SPREAD = 2e-3
_NO_WAYS: Array = np.empty(0)


@storable
class BodyEmbedding(SummaryEmbedding):
    """Describe the bodies of meshes, standardized on the training set.

    Parameters
    ----------
    groups : sequence of str or None
        Names or shell patterns; None stands for the connected parts of the boundary inside the outer one.
    form : {"numbers", "one by one", "together"}
        "numbers": of every group the number of its bodies, and the means of their own numbers; groups that some of the
        training meshes lack are left out. The others are for one group, see above: frequencies along single numbers, or
        in all directions.
    pairs : sequence of (str, str)
        Groups whose resistances to one another come last among the numbers; none with another form.
    merge_nodes : bool
        Make nodes of a mesh at the same place one.
    n_jobs : int or None
        Threads.
    memory : Memory, path or None
        Where numbers of files are kept from one run to the next.

    Attributes
    ----------
    mean_, spread_ : ndarray of shape (K,)
        Of the numbers, or of those of all bodies of the training meshes.
    lowest_, highest_ : ndarray of shape (K,)
        Of the same numbers, over the training set.
    used_ : ndarray of shape (groups,), bool
        Which groups all training meshes have.
    joined_ : ndarray of shape (pairs,), bool
        Which pairs of groups all training meshes have.
    counts_ : ndarray of shape (groups, 2)
        Of every group, the fewest and the most bodies of a training mesh.
    dimension_ : int

    Examples
    --------
    >>> from swwl import Mesh
    >>> square = [[0, 0], [1, 0], [1, 1], [0, 1]]
    >>> ends = [Mesh(square, [[0, 1, 2], [0, 2, 3]], groups={"held": [side]}) for side in ([0, 1], [2, 3])]
    >>> BodyEmbedding(["held"]).fit_transform(ends)[:, :3].tolist()  # how many, x, y
    [[0.0, 0.0, -1.0], [0.0, 0.0, 1.0]]
    """

    mean_: Annotated[Array, Shape("k")]
    spread_: Annotated[Array, Shape("k", above=0)]
    lowest_: Annotated[Array, Shape("k")]
    highest_: Annotated[Array, Shape("k")]
    used_: NDArray[np.bool_]
    joined_: NDArray[np.bool_]
    counts_: NDArray[np.intp]
    dimension_: int

    def __init__(
        self,
        groups: Sequence[str | None] = (None,),
        *,
        form: str = "numbers",
        pairs: Sequence[tuple[str, str]] = (),
        merge_nodes: bool = False,
        n_jobs: int | None = None,
        memory: MemoryLike = None,
    ):
        super().__init__("bodies", merge_nodes=merge_nodes, n_jobs=n_jobs, memory=memory)
        self.groups = groups
        self.form = form
        self.pairs = pairs

    def fit_transform(
        self, X: object, y: object = None, *, progress: Progress | None = None, memory: MemoryLike = None
    ) -> Array:
        """Learn means and spreads; return the rows, (N, K)."""
        self.check()
        return super().fit_transform(X, y, progress=progress, memory=memory)

    def check(self) -> None:
        """Refuse a form that there is not, and several groups where one is expected."""
        if self.form not in FORMS:
            raise InputError(f"form must be one of {', '.join(map(repr, FORMS))}, not {self.form!r}.")
        if isinstance(self.groups, str) or not len(self.groups):
            raise InputError(f"groups must be a list of names, not {self.groups!r}.")
        if self.form != "numbers" and len(self.groups) != 1:
            raise InputError(f"{self.form!r} is for one group, not for {len(self.groups)}.")
        if isinstance(self.pairs, str) or not all(_is_pair(pair) for pair in self.pairs):
            raise InputError(f"pairs must be a list of two names of groups each, not {self.pairs!r}.")
        if self.form != "numbers" and len(self.pairs):
            raise InputError(f"pairs are for the form 'numbers', not for {self.form!r}.")

    def take(self, items: Sequence[Entry], memory: Memory) -> list[Array]:
        """Return the bodies of every distinct mesh, packed as one array each."""
        plane = getattr(self, "plane_", False)
        return bodies_of(items, tuple(self.groups), self._pairs(), self.merge_nodes, memory, plane)

    def finish(self, pieces: list[Array], inverse: list[int] | None = None, *, fit: bool) -> Array:
        """Return the rows of all meshes; with ``fit``, by their own means and spreads."""
        pieces = pieces if inverse is None else [pieces[k] for k in inverse]
        meshes = [unpacked(piece, len(self.groups)) for piece in pieces]
        if fit:
            self.dimension_ = int(pieces[0][0])
        for number, piece in enumerate(pieces):
            if int(piece[0]) != self.dimension_:
                error = InputError(f"has {piece[0]:.0f} dimensions, but fit saw {self.dimension_}.")
                raise error.of_item(number, f"Graph {number}", continues=True)
        ways = np.array([piece[len(piece) - len(self.pairs) :] for piece in pieces])
        width = len(body_names(self.dimension_))
        if fit:
            self.joined_ = np.isfinite(ways).all(axis=0)
            counts = np.array([[-1 if bodies is None else len(bodies) for bodies in mesh] for mesh in meshes])
            # A mesh without a group of bodies has none of them.
            self.used_ = np.asarray((counts >= 0).all(axis=0) if self.form == "numbers" else (counts > 0).any(axis=0))
            if not self.used_.any():
                number = int((counts < 0).sum(axis=1).argmax())
                lacks = ", ".join(repr(name) for name, n in zip(self.groups, counts[number], strict=True) if n < 0)
                error = InputError(
                    f"has no group {lacks}, and none of {', '.join(map(str, self.groups))} is in all meshes: name them "
                    "alike in all, or fit without them, to numbers with groups=False (--no-groups)."
                )
                raise error.of_item(number, f"Graph {number}", continues=True)
            self.counts_ = np.column_stack([counts.min(axis=0), counts.max(axis=0)]).clip(0)
        ways[:, ~self.joined_] = 0.0
        for number, mesh in enumerate(meshes):
            for place, name in enumerate(self.groups):
                if self.used_[place] and mesh[place] is None:
                    if self.form == "numbers" or self.counts_[place, 0] > 0:
                        raise self._lacks(repr(name), number)
                    mesh[place] = np.empty((0, width))
            if not np.isfinite(ways[number]).all():
                pair = self._pairs()[int(np.argmin(np.isfinite(ways[number])))]
                raise self._lacks(" or ".join(map(repr, pair)), number)
        pairs = [zip(mesh, self.used_, strict=True) for mesh in meshes]
        used = [[bodies for bodies, own in mesh if own and bodies is not None] for mesh in pairs]
        if fit:
            self._learn(used, ways)
        return np.array([self.row(bodies, own)[0] for bodies, own in zip(used, ways, strict=True)])

    def _pairs(self) -> tuple[tuple[str, str], ...]:
        return tuple((first, second) for first, second in self.pairs)

    @staticmethod
    def _lacks(groups: str, number: int) -> InputError:
        error = InputError(
            f"has no group {groups}, which the model has learned from: name it in the mesh, or fit "
            "without it, to numbers with groups=False (--no-groups), to fields on other meshes."
        )
        return error.of_item(number, f"Graph {number}", continues=True)

    def _learn(self, meshes: list[list[Array]], ways: Array) -> None:
        if self.form == "numbers":
            raw = np.array([self._numbers(mesh, own) for mesh, own in zip(meshes, ways, strict=True)])
        else:
            raw = np.vstack([bodies for (bodies,) in meshes])
        if not len(raw):
            raise InputError("No mesh has a body.")
        self.lowest_, self.highest_ = raw.min(axis=0), raw.max(axis=0)
        spread = raw.std(axis=0)
        self.mean_, self.spread_ = raw.mean(axis=0), np.where(spread > _LEAST_SPREAD, spread, 1.0)

    def _numbers(self, mesh: list[Array], ways: Array) -> Array:
        own = n_own_numbers(self.dimension_)
        each = [np.append(len(bodies), bodies[:, :own].mean(axis=0) if len(bodies) else np.zeros(own))
                for bodies in mesh]  # fmt: skip
        return np.concatenate([*each, ways])

    def row(self, mesh: list[Array], ways: Array = _NO_WAYS) -> tuple[Array, Callable[[Array], list[Array]]]:
        """Return the row (K,) of a mesh and what brings gradients back.

        Given are the bodies (B, k) of all groups in use, and the resistances of all pairs, zero where they are not in
        use. What brings gradients (K, m) in the row back returns those in the bodies of every group, (B, k, m), and for
        numbers those in the resistances, (pairs, m), behind them.
        """
        if self.form == "numbers":
            scaled = (self._numbers(mesh, ways) - self.mean_) / self.spread_
            row = np.clip(scaled, -MOST_DEVIATIONS, MOST_DEVIATIONS)
            return row, lambda gradient: self._numbers_back(mesh, gradient * ((row == scaled) / self.spread_)[:, None])
        (bodies,) = mesh
        scaled = (bodies - self.mean_) / self.spread_
        z = np.clip(scaled, -MOST_DEVIATIONS, MOST_DEVIATIONS)
        moving = (z == scaled) / self.spread_
        directions, weights = self.frequencies()
        phases = z @ directions  # (B, J)
        row = np.concatenate([weights * np.cos(phases).sum(axis=0), weights * np.sin(phases).sum(axis=0)])
        order = self._order()

        def back(gradient: Array) -> list[Array]:
            plain = np.empty_like(gradient)
            plain[order] = gradient
            cosine, sine = plain[: len(weights)], plain[len(weights) :]
            by_phase = weights[None, :, None] * (
                np.cos(phases)[:, :, None] * sine - np.sin(phases)[:, :, None] * cosine
            )
            return [np.einsum("bjm,kj->bkm", by_phase, directions) * moving[:, :, None]]

        return row[order], back

    def _numbers_back(self, mesh: list[Array], gradient: Array) -> list[Array]:
        own, found = n_own_numbers(self.dimension_), []
        for number, bodies in enumerate(mesh):
            back = np.zeros((*bodies.shape, gradient.shape[1]))
            start = number * (own + 1) + 1
            back[:, :own] = gradient[start : start + own] / max(1, len(bodies))
            found.append(back)
        return [*found, gradient[len(gradient) - len(self.pairs) :]]

    def frequencies(self) -> tuple[Array, Array]:
        """Return directions (k, J) of standardized bodies, as long as frequencies are high, and root weights (J,)."""
        k = len(self.mean_)
        if self.form == "one by one":
            nodes, weights = np.polynomial.hermite_e.hermegauss(2 * _FREQUENCIES)
            nodes, weights = nodes[_FREQUENCIES:] / _LENGTH, weights[_FREQUENCIES:]
            directions = np.asarray(np.kron(np.eye(k), nodes[None]), dtype=np.float64)
            return directions, np.asarray(np.tile(np.sqrt(weights / weights.sum()), k), dtype=np.float64)
        rng = np.random.default_rng(0)
        blocks = [np.linalg.qr(rng.normal(size=(k, k)))[0] for _ in range(-(-_DIRECTIONS // k))]
        lengths = np.sqrt(rng.chisquare(k, size=_DIRECTIONS)) / (_LENGTH * np.sqrt(k))
        return np.hstack(blocks)[:, :_DIRECTIONS] * lengths, np.full(_DIRECTIONS, _DIRECTIONS**-0.5)

    def _order(self) -> NDArray[np.intp]:
        """Return where the numbers of a row come from: cosines and sines of one number of a body stand together."""
        n_parts = len(self.mean_) if self.form == "one by one" else 1
        return np.arange(2 * self.frequencies()[1].size).reshape(2, n_parts, -1).transpose(1, 0, 2).ravel()

    @property
    def row_length(self) -> int:
        """About how many numbers a row has."""
        return 300

    def names(self) -> list[str]:
        """Name the numbers of a row of numbers, or those of a body."""
        names = body_names(self.dimension_)
        if self.form != "numbers":
            return names
        own = ["bodies", *names[: n_own_numbers(self.dimension_)]]
        of_groups = [f"{group or INNER}: {name}" for group in self.in_use() for name in own]
        return of_groups + [f"{first} to {second}: {RESISTANCE}" for first, second in self.pairs]

    def in_use(self) -> list[str | None]:
        """Return the groups that all training meshes have."""
        return [name for name, used in zip(self.groups, self.used_, strict=True) if used]

    def check_restored(self, per_iteration: bool) -> int:
        """Refuse what a model file says of it, where that cannot be; return the length of its rows."""
        self.check()
        check_declared(self, Sizes())
        n = len(self.groups)
        if self.dimension_ not in (2, 3):
            raise InputError(f"dimension is {shown(self.dimension_)}, but 2 or 3 is expected")
        if np.shape(self.used_) != (n,) or np.shape(self.counts_) != (n, 2) or not np.any(self.used_):
            raise InputError(f"{n} groups are expected")
        if np.shape(self.joined_) != (len(self.pairs),):
            raise InputError(f"{len(self.pairs)} pairs of groups are expected")
        expected = int(np.sum(self.used_)) * (1 + n_own_numbers(self.dimension_)) + len(self.pairs)
        expected = expected if self.form == "numbers" else len(body_names(self.dimension_))
        if len(self.mean_) != expected:
            raise InputError(f"mean has {len(self.mean_)} numbers, but {expected} are expected")
        return len(self.mean_) if self.form == "numbers" else 2 * self.frequencies()[1].size


def _is_pair(pair: object) -> bool:
    return isinstance(pair, tuple | list) and len(pair) == 2 and all(isinstance(name, str) for name in pair)


def unpacked(piece: Array, n_groups: int) -> list[Array | None]:
    """Return the bodies (B, k) of every group, or None where a mesh has no such group; see :func:`packed`.

    Examples
    --------
    >>> from swwl.embedding.runner import packed
    >>> [None if own is None else own.shape for own in unpacked(packed(2, [np.ones((3, 16)), None]), 2)]
    [(3, 16), None]
    """
    counts = piece[1 : 1 + n_groups].astype(int)
    width, rest = len(body_names(int(piece[0]))), piece[1 + n_groups :]
    found: list[Array | None] = []
    for count in counts:
        found.append(None if count < 0 else rest[: count * width].reshape(count, width))
        rest = rest[max(count, 0) * width :]
    return found
