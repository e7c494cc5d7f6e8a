"""What tells a mesh from the others of its set: size, place, orientation, loose and repeated nodes, in plain numbers.

:func:`facts_of` looks at one mesh, :func:`typical_of` at many, and :func:`apart` says how one differs from them; a
:class:`Turn` is a rotation that would bring it back. Commands ask before a model is fitted, and before one predicts a
mesh that is unlike those that it has learned from.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from functools import cache
from itertools import permutations, product
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from swwl.errors import InputError, OddCellsWarning
from swwl.formatting import number
from swwl.mesh.arrays import AnyArray
from swwl.mesh.cells import top_cells, used_nodes
from swwl.mesh.graph import Graph
from swwl.mesh.mesh import Mesh
from swwl.mesh.remesh.clean import OddCells, cleaned, odd_cells
from swwl.mesh.remesh.plane import thickness_of
from swwl.mesh.shape.skin import skin
from swwl.storage.memory import fingerprint


class Turn(NamedTuple):
    """A way to exchange and reverse axes, as a matrix (d, d), and what to call it."""

    matrix: NDArray[np.float64]
    name: str


@cache
def turns(dimension: int) -> list[Turn]:
    """Return the turns by right angles and the reflections of one to three axes, the likeliest mistakes first.

    Examples
    --------
    >>> [turn.name for turn in turns(2)][:3]
    ['rotated by 90 degrees', 'rotated by 90 degrees', 'rotated by 180 degrees']
    """
    found = []
    for order in permutations(range(dimension)):
        for signs in product((1.0, -1.0), repeat=dimension):
            matrix = np.zeros((dimension, dimension))
            matrix[range(dimension), order] = signs
            if not np.array_equal(matrix, np.eye(dimension)):
                found.append(_named(matrix))
    return [turn for _, turn in sorted(found, key=lambda pair: pair[0])]


def _named(matrix: NDArray[np.float64]) -> tuple[int, Turn]:
    """Return how unlikely a turn is, and the turn with its name."""
    d = len(matrix)
    axes = "xyz"
    if np.linalg.det(matrix) > 0:
        cosine = matrix[0, 0] if d == 2 else (np.trace(matrix) - 1) / 2
        degrees = round(math.degrees(math.acos(cosine)))
        along = [axes[k] for k in range(d) if matrix[k, k] == 1]
        name = f"rotated by {degrees} degrees" + (f" about {along[0]}" if d == 3 and along else "")
        return (degrees if along or d == 2 else 200), Turn(matrix, name)
    reversed_axes = [axes[k] for k in range(d) if matrix[k, k] == -1]
    diagonal = np.count_nonzero(np.diag(matrix)) == d
    if diagonal and len(reversed_axes) == 1:
        return 210, Turn(matrix, f"mirrored in {reversed_axes[0]}")
    swapped = [axes[k] for k in range(d) if matrix[k, k] == 0]
    if (matrix >= 0).all() and len(swapped) == 2:
        return 220, Turn(matrix, f"given with {swapped[0]} and {swapped[1]} exchanged")
    return 230, Turn(matrix, "mirrored and rotated")


_Floats = NDArray[np.float64]

_LEVELS = 17
# A mesh stands apart where it differs from the median by so many robust standard deviations, and by at least so much:
# in the logarithms of its size and of its nodes, and in its place, relative to the typical size.
_FAR = 8.0
_LEAST_SIZE = math.log(2.0)
_LEAST_NODES = math.log(5.0)
_LEAST_PLACE = 0.25
# Shapes differ from the median by this or less in three of four meshes. One that differs by so many times as much, and
# so many times less after a turn, is turned; one that differs by far more is of another shape. In generated sets
# (plates, airfoils, blades, of one or of many topologies) no mesh reaches 1.8; turned airfoils and blades reach 2.9.
_TURNED = 2.5
_OTHER_SHAPE = 4.0
_LEAST_SHAPE = 0.05
# The same for where a skin looks, which a turn changes most: more than three times as much hardly occurs by chance, and
# what differs by less than this looks the same from all sides, or is the same part in another mesh.
_FAR_LOOKS = 3.0
_LEAST_LOOKS = 0.03
# Of a mesh that a model finds strange for any reason: it was moved if its place is off by so many deviations and by
# this share of its size; it was turned by at least so many degrees if that explains so much of the squared difference.
_MOVED, _LEAST_MOVE = 4.0, 0.02
_LEAST_TURN, _EXPLAINED = 4.0, 0.85
# Layers whose thicknesses differ by this part or less are as thick; so many of all share one that is typical.
_SAME_THICKNESS, _NEARLY_ALL = 1e-3, 0.75
_ROUNDING = 1e-6  # shapes that differ by less are the same
_FEW = 14  # of fewer meshes, one may be far from the others by chance
# Fewer meshes do not say what is typical.
FEWEST = 5
# What a factor between sizes may mean: this many of the first make one of the second.
_UNITS = (
    (1e3, "millimeters", "meters"),
    (1e2, "centimeters", "meters"),
    (10.0, "millimeters", "centimeters"),
    (25.4, "millimeters", "inches"),
    (39.37, "inches", "meters"),
    (2.54, "centimeters", "inches"),
    (3.281, "feet", "meters"),
    (12.0, "inches", "feet"),
    (1e6, "micrometers", "meters"),
)


@dataclass(frozen=True)
class MeshFacts:
    """A mesh in a few numbers, of the nodes that its cells use.

    Parameters
    ----------
    n_nodes, n_loose, n_repeated : int
        Nodes that cells use, nodes that none uses, and how many of the first lie exactly where another one lies.
    key : str
        The same for meshes of the same points and cells, whatever their files and fields.
    quantiles : ndarray of shape (d, 17)
        Of each coordinate, from its least to its largest value.
    covariance : ndarray of shape (d, d)
    looks : ndarray of shape (d, d)
        Where the skin looks: the mean of n nᵀ over its normals n, of trace 1. The unit matrix over d, which says
        nothing, for what has no skin.
    has_cells : bool
        Whether it is a mesh in space; the features of a graph may be anything.
    n_flat, n_twice : int
        Cells without area or volume, and cells that are there again.
    thickness : float
        Of a mesh one cell thick, see :func:`swwl.mesh.remesh.plane.thickness_of`; 0 in the plane, NaN for solids.
    kinds : tuple of str
        Types of its cells of the highest dimension.
    groups : tuple of str
        Names of its groups.
    """

    n_nodes: int
    n_loose: int
    n_repeated: int
    key: str
    quantiles: _Floats
    covariance: _Floats
    looks: _Floats
    has_cells: bool = True
    n_flat: int = 0
    n_twice: int = 0
    thickness: float = 0.0
    kinds: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()

    @property
    def odd_cells(self) -> OddCells:
        """Cells that are left out."""
        return OddCells(self.n_flat, self.n_twice)

    @property
    def dimension(self) -> int:
        """Number of coordinates, d."""
        return len(self.quantiles)

    @property
    def size(self) -> float:
        """The diagonal of the box around the nodes."""
        return float(np.linalg.norm(self.quantiles[:, -1] - self.quantiles[:, 0]))

    @property
    def middle(self) -> _Floats:
        """The middle of that box, (d,)."""
        return np.asarray(self.quantiles[:, 0] / 2 + self.quantiles[:, -1] / 2)


def facts_of(item: Mesh | Graph) -> MeshFacts:
    """Describe a mesh by numbers that show its size, place and orientation.

    Parameters
    ----------
    item : Mesh or Graph

    Raises
    ------
    InputError
        For a mesh without cells.

    Examples
    --------
    >>> found = facts_of(Mesh([[0, 0], [2, 0], [0, 1], [9, 9]], [[0, 1, 2]]))
    >>> found.n_nodes, found.n_loose, found.middle.tolist()
    (3, 1, [1.0, 0.5])
    >>> facts_of(Mesh([[0, 0], [3, 0], [3, 1], [0, 1]], {"quad": [[0, 1, 2, 3]]})).looks.tolist()
    [[0.25, 0.0], [0.0, 0.75]]
    """
    parts: list[Any]
    if isinstance(item, Graph):
        points, n_loose, parts = item.features, 0, item.parts()
    else:
        item.require_cells()
        used = used_nodes(item.cells, item.n_nodes)
        points, n_loose = (item.points, 0) if used.all() else (item.points[used], int((~used).sum()))
        parts = [item.points, [*item.cells, *item.cells.values()]]
    rows = points.T.copy()
    # Points at one place have the same projection; others hardly ever have.
    along = np.sort(np.sqrt(np.arange(2.0, 2 + len(rows))) @ rows)
    n_repeated = int((along[1:] == along[:-1]).sum())
    centered = rows - rows.mean(axis=1, keepdims=True)
    with np.errstate(over="ignore", invalid="ignore"):
        covariance = centered @ centered.T / len(points)
    rows.sort(axis=1)
    places = np.linspace(0, len(points) - 1, _LEVELS)
    below, above = np.floor(places).astype(np.intp), np.ceil(places).astype(np.intp)
    quantiles = rows[:, below] + (places - below) * (rows[:, above] - rows[:, below])
    has_cells = isinstance(item, Mesh)
    looks, odd, thickness = None, OddCells(0, 0), 0.0
    kinds: tuple[str, ...] = ()
    if isinstance(item, Mesh):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", OddCellsWarning)  # the facts say so
            looks = _looks(cleaned(item))
        odd, thickness, kinds = odd_cells(item), thickness_of(item), tuple(sorted(top_cells(item.cells)))
    groups = tuple(item.groups) if isinstance(item, Mesh) else ()
    if looks is None:
        looks = np.eye(len(rows)) / len(rows)
    sizes = len(points), n_loose, n_repeated
    return MeshFacts(
        *sizes, fingerprint(*parts), quantiles, covariance, looks, has_cells, *odd, thickness, kinds, groups
    )


def _looks(mesh: Mesh) -> _Floats | None:
    """Return the second moment of the normals of a skin, (d, d); None where there is none."""
    try:
        with np.errstate(over="ignore", invalid="ignore"):
            found = skin(mesh)
    except InputError:
        return None
    second = (found.normals.T * found.masses) @ found.normals
    return second if np.isfinite(second).all() else None


def shape_of(facts: MeshFacts, turn: AnyArray | None = None) -> _Floats:
    """Describe how a mesh lies in its axes, whatever its size and place, (17 d + d d,).

    Parameters
    ----------
    facts : MeshFacts
    turn : ndarray of shape (d, d), optional
        A permutation of the axes with signs: describe the mesh as it is after that.
    """
    size = facts.size or 1.0
    sides = (facts.quantiles - facts.middle[:, None]) / size
    second = facts.covariance * (2 / size) ** 2
    if turn is not None:
        signs = turn.sum(axis=1)
        sides = sides[np.abs(turn).argmax(axis=1)]
        sides = np.where(signs[:, None] > 0, sides, -sides[:, ::-1])
        second = turn @ second @ turn.T
    return np.concatenate([sides.ravel() / math.sqrt(sides.size), second.ravel() / facts.dimension])


def looks_of(facts: MeshFacts, turn: AnyArray | None = None) -> _Floats:
    """Return where the skin of a mesh looks, or would look after a turn, (d d,)."""
    return np.ravel(facts.looks if turn is None else turn @ facts.looks @ turn.T)


@dataclass(frozen=True)
class Typical:
    """What most meshes of a set have in common, and how far the others may be from it.

    Parameters
    ----------
    log_size, far_size, log_nodes, far_nodes : float
        Median logarithms of sizes and numbers of nodes, and which differences from them are large.
    middle, far : ndarray of shape (d,)
        The same for the place.
    shape : ndarray of shape (17 d + d d,)
        The median of :func:`shape_of`.
    reach, far_shape : float
        How far from it three of four meshes are at most, more where there are few, and what is far.
    looks : ndarray of shape (d d,)
        The median of :func:`looks_of`.
    far_looks : float
        What is far from that.
    spread : ndarray of shape (d,)
        Robust standard deviations of the place.
    thickness : float
        That nearly all meshes one cell thick share, as :class:`MeshFacts` has it; 0 where there is none.
    """

    log_size: float
    far_size: float
    log_nodes: float
    far_nodes: float
    middle: _Floats
    far: _Floats
    shape: _Floats
    reach: float
    far_shape: float
    looks: _Floats
    far_looks: float
    spread: _Floats
    thickness: float = 0.0

    def plain(self) -> dict[str, Any]:
        """Return it as what JSON holds."""
        return {key: np.asarray(value).tolist() for key, value in asdict(self).items()}

    @classmethod
    def from_plain(cls, values: Any) -> Typical | None:
        """Return what :meth:`plain` gave; None for anything else."""
        names = {field.name for field in fields(cls)}
        if not isinstance(values, Mapping) or set(values) | {"spread", "thickness"} != names:
            return None
        if "spread" not in values:  # of earlier versions, which knew a bound of it
            values = {**values, "spread": values["far"]}
        values = {"thickness": 0.0, **values}
        try:
            arrays = {name: np.asarray(values[name], dtype=np.float64) for name in names}
        except (TypeError, ValueError):
            return None
        d = len(arrays["middle"]) if arrays["middle"].ndim == 1 else 0
        wanted = {"middle": (d,), "far": (d,), "spread": (d,), "shape": (_LEVELS * d + d * d,), "looks": (d * d,)}
        if not d or any(array.shape != wanted.get(name, ()) for name, array in arrays.items()):
            return None
        found: dict[str, Any] = {name: array if name in wanted else float(array) for name, array in arrays.items()}
        return cls(**found)


def typical_of(many: Sequence[MeshFacts]) -> Typical | None:
    """Say what is typical of a set of meshes; None for fewer than five of one dimension.

    Medians and deviations from them tell, so a few meshes that stand apart do not count. Where sizes fall into two
    groups with a wide gap, as when half of the meshes are in other units, the larger group is the typical one.
    """
    many = [facts for facts in many if facts.has_cells and facts.dimension <= 3 and 0 < facts.size < math.inf]
    dimensions = [facts.dimension for facts in many]
    many = [facts for facts in many if facts.dimension == max(set(dimensions), key=dimensions.count)]
    if len(many) < FEWEST:
        return None
    sizes = np.log([facts.size for facts in many])
    group = _larger_group(sizes)
    chosen = [facts for facts, is_in in zip(many, group, strict=True) if is_in]
    sizes = sizes[group]
    nodes = np.log([facts.n_nodes - facts.n_repeated for facts in chosen])
    middles = np.array([facts.middle for facts in chosen])
    shape, reach = _usual([shape_of(facts) for facts in chosen])
    looks, reach_looks = _usual([looks_of(facts) for facts in chosen])
    few = max(1.0, _FEW / len(chosen))
    log_size = float(np.median(sizes))
    return Typical(
        log_size=log_size,
        far_size=max(_LEAST_SIZE, _FAR * float(_deviation(sizes))),
        log_nodes=float(np.median(nodes)),
        far_nodes=max(_LEAST_NODES, _FAR * float(_deviation(nodes))),
        middle=np.median(middles, axis=0),
        far=np.maximum(_LEAST_PLACE * math.exp(log_size), _FAR * _deviation(middles)),
        shape=shape,
        reach=math.sqrt(few) * reach,
        far_shape=max(_LEAST_SHAPE, _OTHER_SHAPE * few**2 * reach),
        looks=looks,
        far_looks=max(_LEAST_LOOKS, _FAR_LOOKS * reach_looks),
        spread=_deviation(middles),
        thickness=_shared_thickness(chosen),
    )


def _shared_thickness(many: Sequence[MeshFacts]) -> float:
    """Return the thickness that nearly all meshes have in common; 0 for solids and plane meshes."""
    found = np.array([facts.thickness for facts in many])
    if not (np.isfinite(found) & (found != 0)).any():
        return 0.0
    middle = float(np.nanmedian(found))
    return middle if (np.abs(found - middle) <= _SAME_THICKNESS * abs(middle)).mean() >= _NEARLY_ALL else 0.0


def _usual(rows: Sequence[_Floats]) -> tuple[_Floats, float]:
    """Return the median of vectors, and how far from it three of four of them are at most."""
    middle = np.median(rows, axis=0)
    return middle, float(np.quantile(np.linalg.norm(rows - middle, axis=1), 0.75))


def _deviation(values: _Floats) -> _Floats:
    """Estimate standard deviations along the first axis by median absolute deviations."""
    return np.asarray(1.4826 * np.median(np.abs(values - np.median(values, axis=0)), axis=0))


def _larger_group(sizes: _Floats) -> NDArray[np.bool_]:
    """Return the members of the larger of two groups far apart, given logarithms (N,); all where there is one group."""
    ordered = np.sort(sizes)
    gaps = np.diff(ordered)
    k = int(gaps.argmax()) + 1
    spread = max(ordered[k - 1] - ordered[0], ordered[-1] - ordered[k])
    if gaps[k - 1] < max(math.log(5), 3 * spread):
        return np.ones(len(sizes), bool)
    low = np.asarray(sizes <= ordered[k - 1])
    group = low if 2 * low.sum() >= len(sizes) else ~low
    return group if group.sum() >= FEWEST else np.ones(len(sizes), bool)


class Apart(NamedTuple):
    """How a mesh differs from the others: in what, what was found, and what to do about it."""

    kind: str
    found: str
    advice: str


def apart(facts: MeshFacts, typical: Typical, others: str = "the others") -> list[Apart]:
    """Say in what a mesh stands apart from what is typical, and what may be the cause; nothing for most meshes.

    Examples
    --------
    >>> square = np.array([[0.0, 0], [1, 0], [1, 1], [0, 1]])
    >>> plates = [Mesh(square * [width, 1], {"quad": [[0, 1, 2, 3]]}) for width in np.linspace(2, 3, 9)]
    >>> typical = typical_of([facts_of(plate) for plate in plates])
    >>> large, turned = Mesh(2500 * square, plates[0].cells), Mesh(square * [1, 2.5], plates[0].cells)
    >>> apart(facts_of(large), typical)[0].advice.partition("?")[0], apart(facts_of(turned), typical)[0].found
    ('in millimeters, where the others are in meters', 'is probably rotated by 90 degrees, compared with the others')
    """
    d = len(typical.middle)
    if not facts.has_cells or facts.dimension != d or not 0 < facts.size < math.inf:
        return []
    found = _apart_in_size(facts, typical, others) or _apart_in_shape(facts, typical, others)
    found = found or _apart_in_place(facts, typical, others)
    found += other_layer(facts.thickness, typical, others) if not any(one.kind == "size" for one in found) else []
    if abs(math.log(facts.n_nodes - facts.n_repeated) - typical.log_nodes) > typical.far_nodes:
        text = f"has {facts.n_nodes} nodes, where {others} have about {math.exp(typical.log_nodes):.0f}"
        found.append(Apart("node count", text, "is it the right file? Mesh it as finely as the others"))
    return found


def _apart_in_size(facts: MeshFacts, typical: Typical, others: str) -> list[Apart]:
    difference = math.log(facts.size) - typical.log_size
    if abs(difference) <= typical.far_size:
        return []
    factor, cause = math.exp(abs(difference)), ""
    off, unit = min((abs(math.log(factor / unit[0])), unit) for unit in _UNITS)
    if off < 0.3:  # meshes of one set differ in size, so the factor is not exact
        factor, *names = unit
        mine, theirs = names if difference > 0 else names[::-1]
        cause = f"in {mine}, where {others} are in {theirs}? "
    what = f"{_rounded(factor)} times {'larger' if difference > 0 else 'smaller'}"
    size = f"{number(facts.size)} across, where {number(math.exp(typical.log_size))} is typical"
    return [Apart("size", f"is about {what} than {others} ({size})", f"{cause}Scale it, or leave its row out")]


def _rounded(factor: float) -> str:
    """Write a factor with two digits.

    >>> _rounded(1013.2), _rounded(25.4), _rounded(3.281)
    ('1000', '25', '3.3')
    """
    rounded = float(f"{factor:.2g}")
    return f"{rounded:.0f}" if rounded >= 10 else f"{rounded:g}"


def _apart_in_shape(facts: MeshFacts, typical: Typical, others: str) -> list[Apart]:
    turn = _turn_back(facts, typical)
    if turn is not None:
        # A few degrees that say as much are likelier than a right angle.
        text = f"is probably {_small_turn(facts, typical) or turn.name}, compared with {others}"
        return [Apart("orientation", text, "turn it back, or leave its row out")]
    distance = _off(facts, typical)
    if distance >= typical.far_shape:
        times = _rounded(distance / max(typical.reach, _ROUNDING))
        text = f"differs in its proportions or orientation {times} times as much as {others} do"
        return [Apart("shape", text, "rotated, cut off, or another part? Look at it")]
    return []


def _off(facts: MeshFacts, typical: Typical, turn: _Floats | None = None) -> float:
    """Return how far a shape is from the typical one, before or after a turn."""
    return float(np.linalg.norm(shape_of(facts, turn) - typical.shape))


def _off_in_looks(facts: MeshFacts, typical: Typical, turn: _Floats | None = None) -> float:
    """Return the same for where the skin looks, which tells a square with notches from a turned one."""
    return float(np.linalg.norm(looks_of(facts, turn) - typical.looks))


def _turn_back(facts: MeshFacts, typical: Typical) -> Turn | None:
    """Return the likeliest turn after which a mesh is like the others, where it is not like them as it is."""
    far = _TURNED * max(typical.reach, _ROUNDING)
    # A turn that the skin asks for must not lead to another shape.
    near = max(typical.far_shape, _off(facts, typical))
    for off, least, bound in ((_off, far, math.inf), (_off_in_looks, typical.far_looks, near)):
        distance = off(facts, typical)
        if distance < least:
            continue
        possible = [turn for turn in turns(facts.dimension) if _off(facts, typical, turn.matrix) <= bound]
        after = [off(facts, typical, turn.matrix) for turn in possible]
        best = min(after, default=distance)
        if distance >= _TURNED * max(best, _ROUNDING):
            # For symmetric shapes several bring it back.
            return next(turn for turn, left in zip(possible, after, strict=True) if left <= 1.2 * best + _ROUNDING)
    return None


def other_layer(own: float, typical: Typical, others: str = "the others") -> list[Apart]:
    """Say that a mesh one cell thick is not as thick as is typical, given its :attr:`MeshFacts.thickness`."""
    known = typical.thickness
    if not (known and own and np.isfinite(own)) or abs(own - known) <= _SAME_THICKNESS * abs(known):
        return []
    text = f"is {_layer_words(own)}, where {others} are {_layer_words(known)}"
    return [Apart("thickness", text, "forces and flow rates grow with it: make it as thick, or leave its row out")]


def _layer_words(thickness: float) -> str:
    """Say how thick a layer is.

    >>> _layer_words(0.1), _layer_words(-math.radians(5))
    ('a layer 0.1 thick', 'a wedge of 5 degrees')
    """
    return (
        f"a layer {number(thickness)} thick"
        if thickness > 0
        else f"a wedge of {number(math.degrees(-thickness))} degrees"
    )


def _apart_in_place(facts: MeshFacts, typical: Typical, others: str) -> list[Apart]:
    shift = facts.middle - typical.middle
    growth = max(0.0, facts.size - math.exp(typical.log_size))  # grown from a corner, its middle moves by half of that
    if (np.abs(shift) <= typical.far + growth).all():
        return []
    along = ", ".join(f"{number(float(step))} in {axis}" for step, axis in zip(shift, "xyz", strict=False) if step)
    times = _rounded(float(np.linalg.norm(shift)) / math.exp(typical.log_size))
    text = f"lies elsewhere than {others}, by {along} ({times} times their size)"
    # Shapes that are much the same from all sides show a turn by their place alone.
    turned = [
        turn.name
        for turn in turns(facts.dimension)
        if (np.abs(facts.middle - turn.matrix @ typical.middle) <= typical.far).all()
        and np.linalg.norm(shape_of(facts, turn.matrix.T) - typical.shape) <= _TURNED * max(typical.reach, _ROUNDING)
    ]
    cause = f"{turned[0]} about the origin, or moved? Put" if turned else "put"
    return [Apart("position", text, f"{cause} it back, or leave its row out")]


def motion(facts: MeshFacts, typical: Typical, others: str = "the others") -> Apart | None:
    """Say how a mesh that a model finds strange was moved or turned, if that is likely; a few degrees are enough.

    Examples
    --------
    >>> square = np.array([[0.0, 0], [1, 0], [1, 1], [0, 1]])
    >>> widths = np.linspace(2, 3, 9)
    >>> plates = [Mesh(square * [width, 1] - [width / 2, 0], {"quad": [[0, 1, 2, 3]]}) for width in widths]
    >>> typical = typical_of([facts_of(plate) for plate in plates])
    >>> motion(facts_of(plates[3]), typical) is None
    True
    >>> motion(facts_of(Mesh(plates[3].points + [0.2, 0], plates[3].cells)), typical).found
    'is probably moved by 0.2 in x, compared with the others'
    >>> c, s = np.cos(np.radians(10)), np.sin(np.radians(10))
    >>> motion(facts_of(Mesh(plates[3].points @ [[c, s], [-s, c]], plates[3].cells)), typical).found
    'is probably turned by 10 degrees, compared with the others'
    """
    d = len(typical.middle)
    if not facts.has_cells or facts.dimension != d or not 0 < facts.size < math.inf:
        return None
    turn = _small_turn(facts, typical) if d > 1 else ""
    if turn:
        return Apart("orientation", f"is probably {turn}, compared with {others}", "turn it back")
    shift = facts.middle - typical.middle
    growth = abs(facts.size - math.exp(typical.log_size))  # grown from a corner, its middle moves by half of that
    least = np.maximum(_MOVED * typical.spread, _LEAST_MOVE * math.exp(typical.log_size) + growth)
    steps = [f"{number(float(step))} in {axis}" for step, low, axis in zip(shift, least, "xyz", strict=False)
             if abs(step) > low]  # fmt: skip
    if not steps:
        return None
    return Apart("position", f"is probably moved by {', '.join(steps)}, compared with {others}", "put it back")


def _small_turn(facts: MeshFacts, typical: Typical) -> str:
    """Say by how many degrees, up to 45, about which axis a mesh is turned; nothing where it is not."""
    d = facts.dimension
    second = typical.shape[-d * d :].reshape(d, d)
    known = [second / np.trace(second), typical.looks.reshape(d, d)]
    own = [facts.covariance / np.trace(facts.covariance), facts.looks]
    angles = np.arange(-45.0, 45.5, 0.5)
    off = sum(float(((a - b) ** 2).sum()) for a, b in zip(own, known, strict=True))
    found = []
    for i, j in ((0, 1),) if d == 2 else ((1, 2), (2, 0), (0, 1)):
        left = []
        for angle in np.radians(angles):
            back = np.eye(d)
            back[[i, j], [i, j]] = math.cos(angle)
            back[i, j], back[j, i] = math.sin(angle), -math.sin(angle)
            left.append(sum(float(((back @ a @ back.T - b) ** 2).sum()) for a, b in zip(own, known, strict=True)))
        best = int(np.argmin(left))
        found.append((left[best], float(angles[best]), "" if d == 2 else f" about {'xyz'[3 - i - j]}"))
    least, angle, axis = min(found)
    if abs(angle) < _LEAST_TURN or abs(angle) == angles[-1] or least > (1 - _EXPLAINED) * off:
        return ""
    return f"turned by {angle:.0f} degrees{axis}"
