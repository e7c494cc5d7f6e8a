"""Several blocks as one: coordinates and distances whose ranges all enter one radial correlation."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from swwl.errors import InputError
from swwl.gp.blocks import Block, Coordinates, Distances, Index
from swwl.gp.correlations import Array


class Joint(Block):
    r"""Blocks of the same points, joined: one correlation for all of them, with the ranges of each.

    It stands for :math:`c(\sqrt u)` with

    .. math:: u_{ij} = \sum_k \beta_k^2 (z_{ik} - z_{jk})^2 + \sum_r \beta_r^2 D_{r,ij}^2 ,

    over the columns of all coordinates and all distances, in the order in which they are given. This is positive
    definite wherever the distances are Euclidean. With "gaussian" it is the product of its parts.

    Parameters
    ----------
    blocks : sequence of Block or array-like
        Arrays hold distances. In predictions coordinates of the new points alone stand beside their distances to the
        training points, as in `swwl.gp.RobustGP.predict`.
    names : sequence of str, optional
        One per range, for messages.

    Attributes
    ----------
    parts : tuple of Block
        The blocks, those of joined blocks one by one.

    Examples
    --------
    >>> block = Joint([Coordinates([[0.0], [3.0]]), [[0.0, 4.0], [4.0, 0.0]]])
    >>> block.n_ranges, block.dense().tolist()
    (2, [[0.0, 5.0], [5.0, 0.0]])
    """

    def __init__(self, blocks: Sequence[Block | ArrayLike], names: Sequence[str] | None = None):
        if isinstance(blocks, Block):
            raise InputError("Joint is given one block, but a list of them is expected.")
        every = [block if isinstance(block, Block) else Distances(block) for block in blocks]
        self.parts: tuple[Block, ...] = tuple(part for block in every for part in parts_of(block))
        self.names = None if names is None else tuple(names)
        if not self.parts:
            raise InputError("Joint is given no blocks, but at least one is expected.")
        shapes = [part.shape for part in self.parts]
        columns = {shape[1] for part, shape in zip(self.parts, shapes, strict=True) if not _rows_alone(part)}
        if len({shape[0] for shape in shapes}) > 1 or len(columns) > 1:
            raise InputError(f"Joint is given blocks of shapes {', '.join(map(str, shapes))}, but all must match.")
        self._n_ranges = sum(part.n_ranges for part in self.parts)
        if names is not None and len(names) != self.n_ranges:
            raise InputError(f"Joint is given {len(names)} names, but its blocks have {self.n_ranges} ranges.")
        self._shape = shapes[0][0], columns.pop() if columns else shapes[0][0]

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of rows and columns."""
        return self._shape

    @property
    def symmetric(self) -> bool:
        """Whether rows and columns are the same points."""
        return all(part.symmetric for part in self.parts)

    @property
    def n_ranges(self) -> int:
        """Those of all parts."""
        return self._n_ranges

    def take(self, rows: Index, columns: Index | None = None) -> Joint:
        """Return the block of some rows and columns."""
        if self.symmetric:
            return self.with_parts([part.take(rows, columns) for part in self.parts])
        columns = slice(None) if columns is None else columns
        return self.with_parts([part.take(rows, None if _rows_alone(part) else columns) for part in self.parts])

    def dense(self) -> Array:
        """Return the distances where all ranges are one, shape (M, N)."""
        if any(part.shape != self.shape for part in self.parts):
            raise InputError("Coordinates of new points alone have no distances yet: give those of the others, too.")
        squares = np.zeros(self.shape)
        for part in self.parts:
            squares += part.dense() ** 2
        return np.sqrt(squares, out=squares)

    def held(self) -> Joint:
        """Return the same block with all distances of its parts computed."""
        return self.with_parts([part.held() for part in self.parts])

    def among(self) -> Joint | None:
        """Return the block of the rows among themselves, or None where a part does not know it."""
        found = [part.among() for part in self.parts]
        known = [part for part in found if part is not None]
        return self.with_parts(known) if len(known) == len(found) else None

    def among_columns(self) -> Joint | None:
        """Return the block of the columns among themselves, or None where a part does not know it."""
        found = [part.among_columns() for part in self.parts]
        known = [part for part in found if part is not None]
        return self.with_parts(known) if len(known) == len(found) else None

    def pairs(self, rows: NDArray[np.intp], columns: NDArray[np.intp]) -> Array:
        """Return the distances of chosen pairs for each range, shape (pairs, n_ranges)."""
        return np.hstack([part.pairs(rows, columns) for part in self.parts])

    def largest(self) -> Array:
        """Return the largest distance for each range, shape (n_ranges,)."""
        return np.concatenate([part.largest() for part in self.parts])

    def with_parts(self, parts: Sequence[Block]) -> Joint:
        """Return the same names of other parts; itself where they are its own."""
        same = len(parts) == len(self.parts) and all(a is b for a, b in zip(parts, self.parts, strict=True))
        return self if same else Joint(parts, self.names)

    def __repr__(self) -> str:
        return f"Joint of {len(self.parts)} blocks, shape {self.shape}"


def _rows_alone(part: Block) -> bool:
    """Whether these are coordinates without those of the columns, which the process knows."""
    return isinstance(part, Coordinates) and part.others is None


def parts_of(block: Block) -> tuple[Block, ...]:
    """Return the parts of a joined block, or the block itself."""
    return block.parts if isinstance(block, Joint) else (block,)


def layout_of(block: Block) -> tuple[int, ...]:
    """Return what a block is made of, in order: k for k columns of coordinates side by side, 0 for distances.

    Examples
    --------
    >>> z, d = Coordinates([[0.0, 1.0], [1.0, 2.0]]), [[0.0, 1.0], [1.0, 0.0]]
    >>> layout_of(Joint([z, z, d, z])), layout_of(z)
    ((4, 0, 2), (2,))
    """
    found: list[int] = []
    for part in parts_of(block):
        width = part.n_ranges if isinstance(part, Coordinates) else 0
        if width and found and found[-1]:
            found[-1] += width
        else:
            found.append(width)
    return tuple(found)


def coordinates_of(block: Block) -> Array | None:
    """Return the coordinates of all parts side by side, shape (M, k), or None where there are none."""
    found = [part.values for part in parts_of(block) if isinstance(part, Coordinates)]
    return np.hstack(found) if found else None


def with_coordinates(block: Block, values: Array | None, others: Array | None = None) -> Block:
    """Return a block with other coordinates, of rows (M, k) and of columns (N, k), in the places of its own."""
    if values is None:
        return block
    parts: list[Block] = []
    used = 0
    for part in parts_of(block):
        if isinstance(part, Coordinates):
            own = slice(used, used + part.n_ranges)
            part, used = Coordinates(values[:, own], None if others is None else others[:, own]), own.stop
        parts.append(part)
    return Joint(parts, block.names) if isinstance(block, Joint) else parts[0]
