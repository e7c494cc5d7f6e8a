"""Numbers derived from a field on a mesh, and how wide their intervals have to be.

Its extremes, mean and integral, and the force of a pressure (:func:`derived_number`); values at a place
(:class:`Probe`) or along a line (:class:`Line`), and the force on a named group (:class:`ForceOn`), which are weighted
sums of nodal values. Numbers of samples are compared with those of meshes that folds left out (:class:`NumberErrors`).
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Annotated, ClassVar, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtri

from swwl.errors import InputError
from swwl.fields.geometry.descriptors import normal_shares
from swwl.fields.values import cell_means
from swwl.mesh.arrays import first_at_place
from swwl.mesh.boundary import piece_normals
from swwl.mesh.cells import cell_corners, cell_dimension, cell_measures, lumped_measures, top_cells
from swwl.mesh.groups import chosen_groups, matching
from swwl.mesh.mesh import Mesh
from swwl.mesh.remesh.plane import flattened, thin_layer
from swwl.mesh.remesh.transfer import places_in
from swwl.mesh.shape.skin import Skin, extent, skin
from swwl.storage.checks import Shape

Array = NDArray[np.float64]
NAMES = ("max", "min", "mean", "integral", "force", "largest", "mean_size")
_OVER_TIME = ("max", "min", "mean", "largest", "mean_size")


def derived_number(
    what: str | Callable[[Mesh], ArrayLike] | LinearNumber, mesh: Mesh, name: str, samples: Array, times: int = 1
) -> Array:
    r"""Return one number, or a few, of every sample of a field.

    Parameters
    ----------
    what : {"max", "min", "mean", "integral", "force", "largest", "mean_size"}, LinearNumber or callable
        "mean" and "integral" are over the lengths, areas or volumes of cells; "force" is :math:`-\int p\, n` over the
        skin, for a pressure p and outward normals n; "largest" is the largest :math:`|u|`, of a vector its length, and
        "mean_size" the mean of :math:`|u|`. For :class:`Probe`, :class:`Line` and :class:`ForceOn` see there. A
        callable takes the mesh with the field, and returns a number or an array of numbers.
    mesh : Mesh
    name : str
        Of the field.
    samples : ndarray of shape (n_samples, n) or (n_samples, n, c)
    times : int
        At how many times components are given, side by side: extremes and means are over nodes and times.

    Returns
    -------
    ndarray of shape (n_samples,) or (n_samples, k)

    Examples
    --------
    >>> line = Mesh([[0.0], [1.0], [3.0]], {"line": [[0, 1], [1, 2]]})
    >>> derived_number("integral", line, "T", np.array([[1.0, 1.0, 1.0], [0.0, 1.0, 2.0]])).tolist()
    [3.0, 3.5]
    """
    if isinstance(what, LinearNumber):
        found = what.weights(mesh, 1 if samples.ndim == 2 else samples.shape[2]).of(samples)
        return found[:, 0] if found.shape[1] == 1 else found
    if callable(what):
        return np.array([np.asarray(what(mesh.with_fields({name: one})), dtype=float) for one in samples])
    check_name(what)
    if what == "force" and samples.ndim == 3:
        raise InputError(f"Field {name!r} has {samples.shape[2]} components, but a force is that of a pressure.")
    shares = lumped_measures(mesh.points, mesh.cells)[:, None]
    if what == "force":
        shares = np.hstack([shares, normal_shares(mesh)])
    found = numbers_of(what, samples if samples.ndim == 3 else samples[:, :, None], shares, times)
    return found[:, 0] if is_single(what, samples, times) else found


def is_single(what: str, samples: Array, times: int = 1) -> bool:
    """Whether a number is one of every sample, and not one for each component or direction; of nodes or cells."""
    single = what in ("largest", "mean_size") or (what != "force" and samples.ndim == 2)
    return single or (what in _OVER_TIME and samples.shape[2:] == (times,))


def check_name(what: object) -> None:
    """Refuse a number that has no name here."""
    if what not in NAMES:
        raise InputError(f"The derived number is {what!r}, but a function or one of {', '.join(NAMES)} is expected.")


def cell_shares(mesh: Mesh) -> Array:
    """Return the length, area or volume of every cell, (m, 1); zero of cells of a lower dimension than others.

    Examples
    --------
    >>> cell_shares(Mesh([[0.0], [1.0], [3.0]], {"line": [[0, 1], [1, 2]], "vertex": [[0]]})).ravel().tolist()
    [1.0, 2.0, 0.0]
    """
    top = top_cells(mesh.cells)
    parts = [
        cell_measures(mesh.points, kind, block) if kind in top else np.zeros(len(block))
        for kind, block in mesh.cells.items()
    ]
    return np.concatenate(parts)[:, None]


def holding_cells(mesh: Mesh, weights: NodalWeights) -> NodalWeights:
    """Return weights of cells, each the one that holds a place, given those of the nodes of a part of it, (q, r)."""
    around = cell_means(mesh)[:, weights.nodes]
    known = ~np.isnan(weights.matrix).any(axis=0)
    corners = np.nan_to_num(weights.matrix) > 0
    among = (around > 0).astype(float) @ corners
    cells = np.asarray(among.argmax(axis=0))
    chosen, place = np.unique(cells, return_inverse=True)
    matrix = np.zeros((len(chosen), len(cells)))
    matrix[place.reshape(-1), np.arange(len(cells))] = np.where(known, 1.0, np.nan)
    matrix[:, ~known] = np.nan
    return NodalWeights(chosen.astype(np.intp), matrix)


def node_shares(mesh: Mesh) -> Array:
    """Return every node's share of the cells and, where the mesh has a skin, of its normals, (n, 1) or (n, 1 + d).

    Examples
    --------
    >>> node_shares(Mesh([[0, 0], [2, 0], [2, 2], [0, 2]], [[0, 1, 2], [0, 2, 3]]))[1].round(3).tolist()
    [0.667, 1.0, -1.0]
    """
    cells = lumped_measures(mesh.points, mesh.cells)[:, None]
    try:
        return np.hstack([cells, normal_shares(mesh)])
    except InputError:
        return cells


def numbers_of(what: str, samples: Array, shares: Array, times: int = 1) -> Array:
    """Return a number of every sample of a field, or one for each component or direction, (n_samples, k).

    Parameters
    ----------
    what : str
        One of ``NAMES``.
    samples : ndarray of shape (n_samples, n, c)
    shares : ndarray of shape (n, 1) or (n, 1 + d)
        Of :func:`node_shares`.
    times : int
        At how many times components are given, side by side.

    Examples
    --------
    >>> numbers_of("largest", np.array([[[3.0, 4.0], [0.0, 1.0]]]), np.ones((2, 1))).tolist()
    [[5.0]]
    >>> numbers_of("largest", np.array([[[3.0, 4.0], [0.0, 1.0]]]), np.ones((2, 1)), times=2).tolist()
    [[4.0]]
    """
    if times > 1 and what in _OVER_TIME:
        samples = samples.reshape(len(samples), samples.shape[1] * times, -1)
        shares = np.repeat(shares, times, axis=0)
    if what in ("max", "min"):
        return np.asarray(getattr(samples, what)(axis=1))
    if what == "largest":
        return np.linalg.norm(samples, axis=2).max(axis=1)[:, None]
    if what == "force":
        return np.asarray(-samples[:, :, 0] @ shares[:, 1:])
    weights = shares[:, 0]
    if what != "integral":  # nodes without cells count alike
        weights = weights / weights.sum() if weights.any() else np.full(len(weights), 1 / len(weights))
    values = np.linalg.norm(samples, axis=2)[:, :, None] if what == "mean_size" else samples
    return np.tensordot(values, weights, axes=(1, 0))


# Places so little outside of a mesh, relative to its size, lie in it: coordinates are written with few digits. On
# surfaces and lines they may be off by half the longest edge of the nearest cell, as curved ones are.
_SLACK = 1e-6
_SURFACE_SLACK = 0.5


class NodalWeights(NamedTuple):
    """A few weighted sums of nodal values: the nodes (q,) that count, and what each counts in k sums, (q, k).

    Or what each component at each of them counts, (q, c, k), where components are summed, too.
    """

    nodes: NDArray[np.intp]
    matrix: Array

    def of(self, values: Array) -> Array:
        """Return the sums of fields (..., n) or (..., n, c): (..., k) or (..., k c), component by component.

        Parameters
        ----------
        values : ndarray of shape (S, n) or (S, n, c)

        Examples
        --------
        >>> NodalWeights(np.array([0, 2]), np.array([[0.5], [0.5]])).of(np.array([[1.0, 7.0, 3.0]])).tolist()
        [[2.0]]
        """
        if self.matrix.ndim == 3:
            return np.asarray(np.einsum("sqc,qck->sk", values[:, self.nodes], self.matrix, optimize=True))
        if values.ndim == 2 or values.shape[2] == 1:
            return np.asarray(values.reshape(values.shape[:2])[:, self.nodes] @ self.matrix)
        found = np.einsum("sqc,qk->skc", values[:, self.nodes], self.matrix, optimize=True)
        return found.reshape(len(values), -1)

    def within(self, nodes: NDArray[np.intp], known: NDArray[np.bool_]) -> NodalWeights:
        """Return the weights of values at some nodes alone, sorted, (p,); those that are not known count nothing."""
        places = np.searchsorted(nodes, self.nodes)
        return NodalWeights(places, self.matrix * known[places].reshape(-1, *[1] * (self.matrix.ndim - 1)))

    def some(self, most: int, seed: int) -> NodalWeights:
        """Return the weights of at most so many nodes, which count for the others."""
        n = len(self.nodes)
        if n <= most:
            return self
        chosen = np.sort(np.random.default_rng(seed).permutation(n)[:most])
        return NodalWeights(self.nodes[chosen], self.matrix[chosen] * (n / most))


class LinearNumber(ABC):
    """A number, or a few, that are weighted sums of the values at nodes; each kind is a frozen dataclass.

    Attributes
    ----------
    pointwise : bool
        Whether it consists of values at places, whose intervals are those of the field there.
    """

    pointwise: ClassVar[bool] = False

    @abstractmethod
    def weights(self, mesh: Mesh, components: int = 1, plane: bool = False) -> NodalWeights:
        """Return what every node counts.

        Parameters
        ----------
        mesh : Mesh
        components : int
            Of the field.
        plane : bool
            Whether a mesh one cell thick stands for a plane one.

        Raises
        ------
        InputError
            Where the mesh has no such place or group.
        """

    @property
    @abstractmethod
    def words(self) -> str:
        """What it is, for people."""

    def __str__(self) -> str:
        return self.words.replace(", ", "_").replace(" ", "_")


@dataclass(frozen=True)
class Probe(LinearNumber):
    """The value of a field at a place, linear between the corners of the cell that holds it.

    Attributes
    ----------
    point : tuple of float
        As many coordinates as the meshes have; two for meshes one cell thick, in their plane.

    Examples
    --------
    >>> square = Mesh([[0, 0], [2, 0], [2, 2], [0, 2]], [[0, 1, 2], [0, 2, 3]])
    >>> derived_number(Probe((1.0, 0.5)), square, "T", np.array([[0.0, 2.0, 2.0, 0.0]])).tolist()
    [1.0]
    >>> str(Probe((1.0, 0.5)))
    'at_1_0.5'
    """

    point: tuple[float, ...]
    pointwise: ClassVar[bool] = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "point", _coordinates(self.point))

    @property
    def words(self) -> str:
        """What it is, for people."""
        return f"at {_place(self.point)}"

    def weights(self, mesh: Mesh, components: int = 1, plane: bool = False) -> NodalWeights:
        """Return what every node counts."""
        found, distance = _interpolation(mesh, np.array([self.point]))
        if distance[0] > 0:
            raise InputError(f"the point {_place(self.point)} lies {distance[0]:.3g} outside of the mesh")
        return found


@dataclass(frozen=True)
class Line(LinearNumber):
    """The values of a field at places evenly spaced along a line; NaN where it leaves the mesh.

    Attributes
    ----------
    start, end : tuple of float
        See :class:`Probe`.
    n : int
        Number of places, both ends among them.

    Examples
    --------
    >>> square = Mesh([[0, 0], [2, 0], [2, 2], [0, 2]], [[0, 1, 2], [0, 2, 3]])
    >>> derived_number(Line((0, 1), (3, 1), 4), square, "T", np.array([[0.0, 2.0, 2.0, 0.0]])).tolist()
    [[0.0, 1.0, 2.0, nan]]
    """

    start: tuple[float, ...]
    end: tuple[float, ...]
    n: int = 101
    pointwise: ClassVar[bool] = True

    def __post_init__(self) -> None:
        for key in ("start", "end"):
            object.__setattr__(self, key, _coordinates(getattr(self, key)))
        if len(self.start) != len(self.end):
            raise InputError(
                f"A line has {len(self.start)} coordinates at one end, {len(self.end)} at the other; expected as many."
            )
        if not isinstance(self.n, (int, np.integer)) or isinstance(self.n, bool) or self.n < 2:
            raise InputError(f"A line has {self.n!r} points, but a whole number of at least 2 is expected.")

    @property
    def words(self) -> str:
        """What it is, for people."""
        return f"from {_place(self.start)} to {_place(self.end)}"

    @property
    def points(self) -> Array:
        """The places, (n, d)."""
        return np.linspace(self.start, self.end, int(self.n))

    def weights(self, mesh: Mesh, components: int = 1, plane: bool = False) -> NodalWeights:
        """Return what every node counts; NaN for places outside."""
        found, distance = _interpolation(mesh, self.points)
        if (distance > 0).all():
            raise InputError(f"the line {self.words} lies outside of the mesh, {distance.min():.3g} away where nearest")
        found.matrix[:, distance > 0] = np.nan
        return found


@dataclass(frozen=True)
class ForceOn(LinearNumber):
    r"""The force of a field on a named group of faces; in the plane, per unit of depth.

    Of a pressure p it is :math:`-\int p\, n`, with normals n that point away from the body: from the group into the
    cells of a mesh around a body, and out of a surface or a contour. Of a traction, a vector, it is the integral of the
    field itself. Of a stress it is :math:`\int \sigma n` with normals out of the mesh, what acts on a part from
    outside: the load on a loaded end, the reaction on a held one. Components of a stress are xx, yy, zz, xy, yz, zx, as
    CalculiX and VTK order them; in the plane xx, yy, xy or xx, yy, zz, xy.

    Attributes
    ----------
    pattern : str
        Name of the group, or a pattern such as ``"body*"``; several stand between ``|``.
    of : {"pressure", "traction", "stress"}, optional
        What the field is; told by its name and its number of components if omitted, see :meth:`for_field`.

    Examples
    --------
    >>> contour = {"line": [[0, 1], [1, 2], [2, 3], [3, 0]]}
    >>> square = Mesh([[0, 0], [2, 0], [2, 2], [0, 2]], contour, groups={"body": {"line": [0, 1, 2, 3]}})
    >>> derived_number(ForceOn("body"), square, "p", np.array([[0.0, 2.0, 2.0, 0.0]])).tolist()  # p = x
    [[-4.0, 0.0]]
    """

    pattern: str
    of: str | None = None

    def __post_init__(self) -> None:
        if self.of is not None and self.of not in _KINDS_OF_FORCES:
            raise InputError(f"of is {self.of!r}, but one of {', '.join(_KINDS_OF_FORCES)} is expected.")

    @classmethod
    def of_text(cls, text: str) -> ForceOn:
        """Read the name of a group, or what the field is and the name: "pressure:body*".

        Examples
        --------
        >>> ForceOn.of_text("body*"), ForceOn.of_text("stress:end")
        (ForceOn(pattern='body*', of=None), ForceOn(pattern='end', of='stress'))
        """
        kind, colon, pattern = text.partition(":")
        return cls(pattern, kind) if colon and kind in _KINDS_OF_FORCES else cls(text)

    @property
    def words(self) -> str:
        """What it is, for people."""
        return _FORCE_ON + self.pattern

    def for_field(self, name: str, components: int) -> ForceOn:
        """Return the same that says what a field is; refuse a field that is neither pressure, traction nor stress.

        Examples
        --------
        >>> ForceOn("end").for_field("STRESS", 6).of, ForceOn("body").for_field("p", 1).of
        ('stress', 'pressure')
        >>> ForceOn("end").for_field("MISES", 1)
        Traceback (most recent call last):
        ...
        swwl.errors.InputError: force on end: MISES is an equivalent stress, which has no direction; forces are \
those of a pressure, a traction (a vector) or a stress with all of its components.
        """
        if self.of is not None:
            fits = {"pressure": components == 1, "traction": 1 < components <= 3, "stress": components > 1}[self.of]
            if not fits:
                has = f"{components} component{'s' * (components > 1)}"
                raise InputError(f"{self.words}: {name} has {has}, which is no {self.of}.")
            return self
        known = force_kind(name, components)
        if known in _KINDS_OF_FORCES:
            return ForceOn(self.pattern, known)
        raise InputError(
            f"{self.words}: {name} {known}; forces are those of a pressure, a traction (a vector) or a stress with all "
            "of its components."
        )

    def weights(self, mesh: Mesh, components: int = 1, plane: bool = False) -> NodalWeights:
        """Return what every node counts."""
        if plane and thin_layer(mesh) is not None:
            return _lifted(mesh, self.weights(flattened(mesh), components))
        return _force_weights(mesh, self.pattern, skin(mesh) if mesh.groups else None, components, self.of)

    def learned(self, names: Iterable[str]) -> str:
        """Return the words of the force on the same groups, given the names of all numbers whose errors are known.

        Examples
        --------
        >>> ForceOn("body*").learned(["max", "force on inlet", "force on body 1|body 2", "force on body 1"])
        'force on body 1|body 2'
        """
        forces = [words.removeprefix(_FORCE_ON) for words in names if words.startswith(_FORCE_ON)]
        groups = {name for force in forces for name in force.split("|")}
        return _FORCE_ON + "|".join(sorted(matching(self.pattern, sorted(groups))))


_FORCE_ON = "force on "
_KINDS_OF_FORCES = ("pressure", "traction", "stress")
_PRESSURE = re.compile(r"press|(?:^|_)c?_?p(?:$|_|rgh)")
_STRESS = re.compile(r"stress|sigma|cauchy|^s$")
_EQUIVALENT = re.compile(r"mises|tresca|equiv|s_?eqv?$|peeq|principal")
_MOVEMENT = re.compile(r"disp|velo|^[uv]$|motion|accel")
# Places of xx, yy, zz, xy, yz, zx among the components of a stress, by dimension and how many there are.
_TENSORS = {
    (2, 3): ((0, 2), (2, 1)),
    (2, 4): ((0, 3), (3, 1)),
    (2, 6): ((0, 3), (3, 1)),
    (3, 6): ((0, 3, 5), (3, 1, 4), (5, 4, 2)),
}


def force_kind(name: str, components: int) -> str:
    """Say whether a field is a "pressure", "traction" or "stress", by its name, or in words why it is none of them.

    Examples
    --------
    >>> force_kind("p_rgh", 1), force_kind("wallShearStress", 3), force_kind("STRESS", 6)
    ('pressure', 'traction', 'stress')
    >>> force_kind("DISP", 3)
    'is a displacement or another movement'
    """
    low = name.lower()
    if _MOVEMENT.search(low):
        return "is a displacement or another movement"
    if components == 1:
        if _EQUIVALENT.search(low):
            return "is an equivalent stress, which has no direction"
        if _PRESSURE.search(low):
            return "pressure"
        return "is not named like a pressure (to take it for one, write pressure:GROUP)"
    if components <= 3:
        return "stress" if _STRESS.search(low) and "shear" not in low and components == 3 else "traction"
    return "stress" if _STRESS.search(low) else f"has {components} components and is not named like a stress"


# More groups than these, such as one for every cell of a grid, are nobody's walls.
_MOST_GROUPS = 40


def is_number_name(name: str) -> bool:
    """Whether a number that has a name is called so: one of ``NAMES``, or the force on groups.

    >>> is_number_name("max"), is_number_name("force on body"), is_number_name("body")
    (True, True, False)
    """
    return name in NAMES or name.startswith(_FORCE_ON)


def group_forces(
    mesh: Mesh, components: int, most: int, seed: int = 0, of: str | None = None
) -> dict[str, NodalWeights]:
    """Return the weights of forces on groups of faces, by their words, whose errors are learned of left-out meshes.

    On every group, on all whose names begin with the same word, and on all together.

    Parameters
    ----------
    mesh : Mesh
    components : int
        Of the field.
    most : int
        Of more nodes than these some are drawn, and count more.
    seed : int
    of : str, optional
        What the field is, see :class:`ForceOn`.

    Examples
    --------
    >>> contour = {"line": [[0, 1], [1, 2], [2, 3], [3, 0]]}
    >>> groups = {"body 1": [[0, 1], [1, 2]], "body 2": [[2, 3]], "inlet": [[3, 0]]}
    >>> list(group_forces(Mesh([[0, 0], [2, 0], [2, 2], [0, 2]], contour, groups=groups), 1, 100))
    ['force on body 1', 'force on body 2', 'force on inlet', 'force on body 1|body 2', 'force on body 1|body 2|inlet']
    """
    names = [name for name, group in mesh.groups.items() if group.kind != "nodes" and "|" not in name]
    if not names or len(names) > _MOST_GROUPS:
        return {}
    try:
        whole = skin(mesh)
    except InputError:
        return {}
    found: dict[str, NodalWeights] = {}
    families: dict[str, list[str]] = {}
    for name in names:
        try:
            found[_FORCE_ON + name] = _force_weights(mesh, name, whole, components, of)
        except InputError:  # cells inside, above all
            continue
        families.setdefault(re.split(r"[\W\d_]", name)[0], []).append(name)
    alone = [name for own in families.values() for name in own]
    for own in [*families.values(), alone]:
        words = "|".join(sorted(own))
        if len(own) > 1 and _FORCE_ON + words not in found:
            found[_FORCE_ON + words] = _force_weights(mesh, words, whole, components, of)
    return {words: weights.some(most, seed) for words, weights in found.items()}


def _force_weights(
    mesh: Mesh, pattern: str, whole: Skin | None, components: int, of: str | None = None
) -> NodalWeights:
    """Return what nodes count in the force on groups, given the skin of the mesh."""
    pieces, normals = _group_skin(mesh, pattern, whole)
    of = of or ("pressure" if components == 1 else "traction")
    if of == "stress" and components != mesh.dimension:  # of as many components as directions it is a traction
        return _stress_weights(mesh, pieces, normals, components)
    shares = -normals if of == "pressure" else np.linalg.norm(normals, axis=1)[:, None]
    nodes, place = np.unique(pieces, return_inverse=True)
    k = pieces.shape[1]
    sums = [np.bincount(place.ravel(), np.repeat(share / k, k), len(nodes)) for share in shares.T]
    return NodalWeights(nodes.astype(np.intp), np.column_stack(sums))


def _stress_weights(mesh: Mesh, pieces: NDArray[np.int32], normals: Array, components: int) -> NodalWeights:
    """Return what the components of a symmetric tensor at nodes count in the integral of its product with normals."""
    d = mesh.dimension
    if (d, components) not in _TENSORS:
        raise InputError(f"a stress of {components} components is not known in {d} dimensions")
    around = max(map(cell_dimension, top_cells(mesh.cells))) == d
    nodes, place = np.unique(pieces, return_inverse=True)
    k = pieces.shape[1]
    out = -normals if around else normals
    sums = [np.bincount(place.ravel(), np.repeat(share / k, k), len(nodes)) for share in out.T]
    matrix = np.zeros((len(nodes), components, d))
    for i, row in enumerate(_TENSORS[d, components]):
        for j, component in enumerate(row):
            matrix[:, component, i] += sums[j]
    return NodalWeights(nodes.astype(np.intp), matrix)


def _coordinates(point: Sequence[float]) -> tuple[float, ...]:
    try:
        found = tuple(float(x) for x in point)
    except (TypeError, ValueError):
        found = ()
    if not 1 <= len(found) <= 3 or not np.isfinite(found).all():
        raise InputError(f"A place is {point!r}, but two or three coordinates are expected, such as (0.5, 1.2).")
    return found


def _place(point: Sequence[float]) -> str:
    return ", ".join(f"{x:.10g}" for x in point)


def _interpolation(mesh: Mesh, points: Array) -> tuple[NodalWeights, Array]:
    """Return what nodes count at places (r, d), and how far outside of the mesh these are; zero inside."""
    thin = points.shape[1] == 2 and mesh.dimension == 3 and thin_layer(mesh) is not None
    own = flattened(mesh, groups=False) if thin else mesh
    if own.dimension != points.shape[1]:
        given = f"the place {_place(points[0])} has {points.shape[1]} coordinates"
        raise InputError(f"{given}, but the mesh has {own.dimension}")
    found = places_in(own, points)
    corners = own.points[found.nodes]
    slack = np.full(len(points), _SLACK * extent(own.points))
    if corners.shape[1] <= own.dimension:
        edges = [
            np.linalg.norm(corners[:, a] - corners[:, b], axis=1) for a, b in combinations(range(len(corners[0])), 2)
        ]
        slack = _SURFACE_SLACK * np.max(edges, axis=0)
    nodes, place = np.unique(found.nodes, return_inverse=True)
    matrix = np.zeros((len(nodes), len(points)))
    np.add.at(matrix, (place.reshape(found.nodes.shape), np.arange(len(points))[:, None]), found.weights)
    weights = NodalWeights(nodes.astype(np.intp), matrix)
    return _lifted(mesh, weights) if thin else weights, np.where(found.distance > slack, found.distance, 0.0)


def _lifted(mesh: Mesh, weights: NodalWeights) -> NodalWeights:
    """Return weights of a mesh one cell thick, given those of its plane mesh: means over the copies of a node."""
    layer = thin_layer(mesh)
    assert layer is not None
    nodes = np.flatnonzero(np.isin(layer.number, weights.nodes))
    own = layer.number[nodes]
    shares = weights.matrix[np.searchsorted(weights.nodes, own)]
    return NodalWeights(nodes, shares / np.bincount(layer.number)[own].reshape(-1, *[1] * (shares.ndim - 1)))


def _group_skin(mesh: Mesh, pattern: str, whole: Skin | None) -> tuple[NDArray[np.int32], Array]:
    """Return the pieces (m, d) of the skin that belong to a group, and normals (m, d) as long as these are large.

    Normals point away from the body: into cells of the dimension of the mesh, and out of surfaces and contours.
    """
    groups, d = chosen_groups(mesh.groups, pattern), mesh.dimension
    faces: list[NDArray[np.int32]] = []
    for group in groups.values():
        own = {kind: mesh.cells[kind][numbers] for kind, numbers in group.cells.items()} | dict(group.faces)
        faces += [cell_corners(kind, block) for kind, block in own.items() if cell_dimension(kind) == d - 1 > 0]
    if not faces:
        found = ", ".join(f"{name} ({group.words})" for name, group in groups.items())
        raise InputError(f"group {pattern!r} has no faces, over which forces are integrals; found: {found}")
    whole = whole or skin(mesh)
    if not whole.oriented:
        raise InputError(f"boundary normals are not consistently oriented: {whole.reason}")
    around = max(map(cell_dimension, top_cells(mesh.cells))) == d
    if not around:  # the nodes of a surface that stand at one place are one
        first = first_at_place(mesh.points)
        faces = [first[block] for block in faces]
    pieces = whole.pieces[_among(whole.pieces, faces, mesh.n_nodes)]
    if not len(pieces):
        raise InputError(f"group {pattern!r} lies inside the mesh, where the forces on both sides cancel")
    normals = piece_normals(mesh.points, pieces)
    return pieces, -normals if around else normals


def _among(pieces: NDArray[np.int32], faces: Sequence[NDArray[np.int32]], n: int) -> NDArray[np.bool_]:
    """Say which sides or triangles (m, d) are one of some faces, or a part of one that has more corners."""
    seen = np.zeros(n, bool)
    for block in faces:
        seen[block] = True
    found = np.asarray(seen[pieces].all(axis=1))
    d = pieces.shape[1]
    parts = [block[:, some] for block in faces for some in combinations(range(block.shape[1]), d)]
    keys = np.sort(np.concatenate(parts), axis=1)
    codes = np.unique(np.concatenate([keys, np.sort(pieces[found], axis=1)]), axis=0, return_inverse=True)[1].reshape(
        -1
    )
    found[found] = np.isin(codes[len(keys) :], codes[: len(keys)])
    return found


def missing_notes(lacks: dict[str, dict[str, str]], n: int) -> list[str]:
    """Say in a line each which numbers some of n cases lack, and why; refuse them where no case has any of them.

    Parameters
    ----------
    lacks : dict of str to dict of str to str
        By the words of a number, and by case: why it has none.
    n : int

    Examples
    --------
    >>> missing_notes({"at 1, 2": {"a.vtu": "the point 1, 2 lies 0.5 outside of the mesh"}}, 3)
    ['at 1, 2: no value for 1 of 3 cases: a.vtu (the point 1, 2 lies 0.5 outside of the mesh)']
    """
    lines = []
    nowhere = all(len(why) == n for why in lacks.values())
    for words, why in lacks.items():
        if not why:
            continue
        told = [(case, reason.rstrip(".")) for case, reason in why.items()]
        if len(why) == n:
            first = f"none of {n} cases has it; {told[0][0]}: " if n > 1 else ""
            if nowhere:
                raise InputError(f"{words}: {first}{told[0][1]}.")
            lines.append(f"{words}: no value: {first}{told[0][1]}")
            continue
        some = ", ".join(f"{case} ({reason})" for case, reason in told[:_MOST_NAMED])
        some += ", …" if len(told) > _MOST_NAMED else ""
        lines.append(f"{words}: no value for {len(why)} of {n} cases: {some}")
    return lines


_MOST_NAMED = 3
# Part of the typical deviation of samples that any deviation is taken to have more: none is quite zero.
_FLOOR = 0.1
_USUAL = 0.95


@dataclass(frozen=True)
class NumberErrors:
    """Scores of one derived number on left-out meshes.

    Attributes
    ----------
    scores : ndarray of shape (n, k)
        Rising, for each of k components.
    floor : ndarray of shape (k,)
        What is added to deviations of samples.
    """

    scores: Annotated[Array, Shape("nk", rises=True)]
    floor: Annotated[Array, Shape("k", above=0)]

    @classmethod
    def of(cls, truth: Array, center: Array, deviation: Array) -> NumberErrors:
        """Judge samples of n meshes by the true numbers, (n, k) each.

        Examples
        --------
        >>> found = NumberErrors.of(np.array([[1.0], [2.0]]), np.zeros((2, 1)), np.ones((2, 1)))
        >>> found.scores.ravel().round(3).tolist()
        [0.909, 1.818]
        """
        tiny = 1e-12 * (np.abs(truth).max(axis=0) + np.abs(center).max(axis=0)) + np.finfo(float).tiny
        floor = np.maximum(_FLOOR * np.median(deviation, axis=0), tiny)
        return cls(np.sort((truth - center) / (deviation + floor), axis=0), floor)

    def quantile(self, level: float) -> Array:
        """Return which score is not exceeded with this probability, (k,); beyond all scores a normal tail.

        Examples
        --------
        >>> errors = NumberErrors(np.array([[-1.0], [0.0], [1.0]]), np.ones(1))
        >>> errors.quantile(0.75).tolist(), errors.quantile(0.5).tolist()
        ([1.0], [0.0])
        """
        n = len(self.scores)
        place = np.clip((n + 1) * level, 1, n)
        low = int(place) - 1
        found = self.scores[low] + (place - 1 - low) * (self.scores[min(low + 1, n - 1)] - self.scores[low])
        stretch = float(ndtri(level) / ndtri(place / (n + 1))) if place != (n + 1) * level and n > 1 else 1.0
        middle = np.median(self.scores, axis=0)
        return np.asarray(middle + stretch * (found - middle))

    def interval(self, drawn: Array, level: float) -> tuple[Array, Array, Array, Array]:
        """Return center, standard deviation and bounds (..., k) of a number, from those of samples (..., S, k).

        The deviation is that of a normal distribution whose 95 % interval is as wide.
        """
        center, unit = drawn.mean(axis=-2), drawn.std(axis=-2) + self.floor
        width = self.quantile(0.5 + _USUAL / 2) - self.quantile(0.5 - _USUAL / 2)
        lower, upper = self.quantile(0.5 - level / 2), self.quantile(0.5 + level / 2)
        std = width / (2 * float(ndtri(0.5 + _USUAL / 2)))
        return center + unit * self.quantile(0.5), unit * std, center + unit * lower, center + unit * upper
