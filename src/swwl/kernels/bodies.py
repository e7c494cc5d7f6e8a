"""Factors on the named parts of meshes: where a part is held or loaded, and sets of bodies, however many there are."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from swwl.embedding.bodies import INNER, RESISTANCE, BodyEmbedding
from swwl.errors import InputError
from swwl.gp.blocks import Block, Coordinates
from swwl.kernels.base import CorrelationName
from swwl.kernels.components import KeptComponents
from swwl.kernels.sliced import N_KEPT, Kept
from swwl.mesh.arrays import AnyArray
from swwl.storage.modelfile import storable

Array = NDArray[np.float64]

# Numbers of groups that leave the training range by more than this share of it are worth a word; those that do not vary
# in the training set, if they move by more than this share of the size of the mesh.
_MARGIN, _ELSEWHERE = 0.25, 0.05
# Sums over bodies that vary by less than this over the training set, of about 1, are the same but for rounding.
_STILL = 1e-4
_OTHERWISE = {"x": "is at another place", "y": "is at another place", "z": "is at another place"}
_OTHERWISE |= {"log": "is of another size or shape"}
_WORDS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")


@storable
class GroupMeasures(KeptComponents):
    """Numbers of named groups of a mesh, with a range for each: how many bodies, where, how large, how they lie.

    See :func:`swwl.mesh.shape.bodies.body_numbers`, and, for how hard it is to get through the part from one group to
    another, :func:`swwl.mesh.shape.conduction.resistance`. Numbers that do not vary over the training set have no
    range, and groups that some of the training meshes lack are left out.

    Parameters
    ----------
    column : str
        Name of a column of meshes.
    groups : sequence of str or None
        Names or shell patterns such as ``"body*"``; what one of them means is taken together. None stands for the
        connected parts of the boundary inside the outer one.
    pairs : sequence of (str, str)
        Names or patterns of groups that share no node: the resistance from one to the other counts, too.
    merge_nodes : bool
        Make nodes of a mesh at the same place one, see :meth:`swwl.Mesh.merged`.
    n_jobs : int or None
        Threads.

    Examples
    --------
    >>> from swwl import Mesh
    >>> square = [[0, 0], [1, 0], [1, 1], [0, 1]]
    >>> plates = [Mesh(square, [[0, 1, 2], [0, 2, 3]], groups={"held": [side]}) for side in ([0, 1], [1, 2], [2, 3])]
    >>> kernel = GroupMeasures("plate", groups=["held"])
    >>> coordinates, left = kernel.fit(plates)
    >>> kernel.range_names()[:2]
    ['plate (held: x)', 'plate (held: y)']
    """

    n_components = 0  # all that vary
    n_kept = 0
    embedding_: BodyEmbedding

    def __init__(
        self,
        column: str = "graph",
        *,
        groups: Sequence[str | None] = (),
        pairs: Sequence[tuple[str, str]] = (),
        merge_nodes: bool = False,
        n_jobs: int | None = None,
    ):
        self.column = column
        self.groups = groups
        self.pairs = pairs
        self.merge_nodes = merge_nodes
        self.n_jobs = n_jobs

    def check(self) -> None:
        """Refuse what is no list of names."""
        if (
            isinstance(self.groups, str)
            or not len(self.groups)
            or any(not isinstance(g, str | None) for g in self.groups)
        ):
            raise InputError(f"groups must be a list of names of groups, not {self.groups!r}.")

    def make_embedding(self) -> BodyEmbedding:
        """Return an unfitted table of the numbers of groups."""
        return BodyEmbedding(
            tuple(self.groups), pairs=tuple(self.pairs), merge_nodes=self.merge_nodes, n_jobs=self.n_jobs
        )

    def n_parts(self) -> int:
        """One."""
        return 1

    def fit_rows(self, rows: AnyArray) -> Kept:
        """Find the numbers that vary; return those of the training rows, and the norms of the others."""
        self.means_ = [np.zeros(rows.shape[1])]
        self.components_ = [np.eye(rows.shape[1], dtype=np.float32)[:, rows.std(axis=0) > 0.5]]
        return self.coordinates(rows)

    def learn(self, rows: AnyArray) -> None:
        """Find the numbers that vary in a sample; those of all others are kept in single precision."""
        self.fit_rows(rows)
        self.single_ = True

    def blocks(self, first: Kept, second: Kept | None = None) -> list[Block]:
        """Return the numbers, a coordinate each."""
        if not first[0].shape[1]:  # groups that are all alike
            return [
                Coordinates(np.zeros((len(first[0]), 1)), None if second is None else np.zeros((len(second[0]), 1)))
            ]
        return [Coordinates(first[0], None if second is None else second[0])]

    def pull_back(self, new: Kept, train: Kept, gradients: Sequence[Array]) -> Array:
        """Return the gradient in the numbers of one mesh, (K, m)."""
        components = self.components_[0]
        return np.asarray(components @ gradients[0][: components.shape[1]])

    def correlations(self) -> list[CorrelationName]:
        """Return one Gaussian correlation."""
        return ["gaussian"]

    def unlike(self, rows: Kept) -> list[list[str]]:
        """Say of every row which groups have more or fewer bodies, or lie elsewhere, than those of training meshes."""
        embedding, varies = self.embedding_, self._varies()
        names = [name for name, own in zip(embedding.names(), varies, strict=True) if own]
        low, high = embedding.lowest_[varies], embedding.highest_[varies]
        raw = embedding.mean_[varies] + embedding.spread_[varies] * rows[0]
        margin = _MARGIN * (high - low)
        found = []
        for own, left in zip(raw, rows[1], strict=True):
            texts = dict[str, None]()
            for k, name in enumerate(names):
                if low[k] - margin[k] <= own[k] <= high[k] + margin[k]:
                    continue
                group, what = name.rsplit(": ", 1)
                if what == "bodies":
                    of = "" if group == INNER else f" in {group!r}"
                    texts[f"{_counted(own[k])}{of} where training cases have {_range(low[k], high[k])}"] = None
                elif what == RESISTANCE:
                    way = "narrower or longer" if own[k] > high[k] else "wider or shorter"
                    texts[f"the way from {group} is {way} than in any training case"] = None
                else:
                    texts[f"{group!r} {_OTHERWISE.get(what[:3], 'lies otherwise')} than in any training case"] = None
            if left > _ELSEWHERE:
                texts["a named group is elsewhere, or of another size, though it is the same in all training cases"] = (
                    None
                )
            found.append(list(texts))
        return found

    def range_names(self) -> list[str]:
        """Name the numbers."""
        pairs = zip(self.embedding_.names(), self._varies(), strict=True)
        return [f"{self.column} ({name})" for name, varies in pairs if varies] or [self.column]

    def _varies(self) -> NDArray[np.bool_]:
        """Return which numbers of a row vary over the training set, (K,)."""
        return np.asarray(self.components_[0].any(axis=1))


@storable
class BodySets(KeptComponents):
    """Sets of bodies: distances of the distributions of bodies over their numbers, however many bodies a mesh has.

    See :class:`swwl.embedding.bodies.BodyEmbedding`: a mesh is the sum of its bodies, so that with long ranges an
    answer is a sum over bodies of what each contributes, given what surrounds it.

    Parameters
    ----------
    column : str
        Name of a column of meshes.
    group : str or None
        Name or shell pattern of groups, whose connected parts are the bodies; None takes the connected parts of the
        boundary inside the outer one.
    together : bool
        Compare bodies by all numbers together, with one range, or by every number with a range each.
    n_components : int
        How many principal components have a range each, where bodies are compared by all numbers together.
    merge_nodes : bool
        Make nodes of a mesh at the same place one, see :meth:`swwl.Mesh.merged`.
    n_jobs : int or None
        Threads.

    Examples
    --------
    >>> BodySets("channel", group="body*")
    BodySets('channel', group='body*')
    """

    embedding_: BodyEmbedding
    n_kept = N_KEPT

    def __init__(
        self,
        column: str = "graph",
        *,
        group: str | None = None,
        together: bool = False,
        n_components: int = 0,
        merge_nodes: bool = False,
        n_jobs: int | None = None,
    ):
        self.column = column
        self.group = group
        self.together = together
        self.n_components = n_components
        self.merge_nodes = merge_nodes
        self.n_jobs = n_jobs

    def make_embedding(self) -> BodyEmbedding:
        """Return an unfitted embedding of sets of bodies."""
        form = "together" if self.together else "one by one"
        return BodyEmbedding((self.group,), form=form, merge_nodes=self.merge_nodes, n_jobs=self.n_jobs)

    def fit_rows(self, rows: AnyArray) -> Kept:
        """Find the components of embedded training rows; numbers of bodies that do not vary have none."""
        super().fit_rows(rows)
        self._leave_out_still(rows)
        return self.coordinates(rows)

    def learn(self, rows: AnyArray) -> None:
        """Find the components of the embedded rows of a sample; numbers of bodies that do not vary have none."""
        super().learn(rows)
        self._leave_out_still(rows)

    def _leave_out_still(self, rows: AnyArray) -> None:
        """Leave out what does not vary: a range, which is found relative to distances, would make much of rounding."""
        varies = [bool(part.std(axis=0).max() > _STILL) for part in np.split(rows, self.n_parts(), axis=1)]
        if any(varies):
            pairs = zip(self.components_, varies, strict=True)
            self.components_ = [own if kept else own[:, :0] for own, kept in pairs]

    def n_parts(self) -> int:
        """Return how many distances there are: one for every number of a body, or one."""
        return 1 if self.together else len(self.embedding_.mean_)

    def range_names(self) -> list[str]:
        """Name the numbers of bodies, or their components."""
        what = self.group or INNER
        if not self.together:
            pairs = zip(self.embedding_.names(), self._parts(), strict=True)
            return [f"{self.column} ({what}: {name})" for name, part in pairs if part.rest]
        part = self._parts()[0]
        names = [f"{self.column} ({what}: component {j + 1})" for j in range(part.leading)]
        return names + [f"{self.column} ({what})"] * part.rest


def _word(count: float) -> str:
    whole = round(float(count))
    return _WORDS[whole] if 0 <= whole < len(_WORDS) else str(whole)


def _counted(count: float) -> str:
    return f"{_word(count)} bod{'y' if round(float(count)) == 1 else 'ies'}"


def _range(low: float, high: float) -> str:
    """Say in words how many there are.

    Examples
    --------
    >>> _range(1, 1), _range(1, 2), _range(1, 4)
    ('one', 'one or two', 'one to four')
    """
    low, high = round(float(low)), round(float(high))
    if low == high:
        return _word(low)
    return f"{_word(low)} {'or' if high == low + 1 else 'to'} {_word(high)}"
