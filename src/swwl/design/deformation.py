r"""Ways to move the nodes of a mesh by few numbers c, each beside its adjoint.

A deformation says where the nodes go, :math:`x(c)`, and pulls gradients in the nodes back to the numbers,
:math:`(\partial x / \partial c)^\top g`. :class:`Lattice` is a free-form deformation and :class:`GroupMotions` moves
the bodies of named groups: both exist on every mesh, whatever its cells. :class:`ModeMotions` moves along what training
meshes of one topology differ in.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.interpolate import BSpline
from scipy.linalg import expm, expm_frechet
from scipy.spatial import KDTree

from swwl.embedding.components import Modes
from swwl.errors import InputError
from swwl.mesh.groups import chosen_groups
from swwl.mesh.mesh import Mesh
from swwl.mesh.shape.motions import followed_bodies
from swwl.mesh.shape.skin import extent

Array = NDArray[np.float64]
Box = Sequence[tuple[float, float]]

_DEGREE = 3
# A group has so much room around it, of its longest side, in which its motion fades.
_MARGIN = 0.5
# A mesh is flat along an axis where it extends by less than this share of what it does along the longest.
_FLAT = 1e-9
# How far bodies of groups may turn, in degrees, and grow, in percent.
_DEGREES, _PERCENT = 10.0, 10.0
_AXES = "xyz"


@runtime_checkable
class Deformation(Protocol):
    """How the n nodes of one mesh move with k numbers."""

    @property
    def names(self) -> list[str]:
        """What to call the numbers, k of them."""

    @property
    def low(self) -> Array:
        """The least that they may be, (k,)."""

    @property
    def high(self) -> Array:
        """The most that they may be, (k,)."""

    def rest(self, points: Array) -> Array:
        """Return the numbers (k,) with which points (n, d) stay where they are."""

    def move(self, points: Array, c: Array) -> Array:
        """Return where points (n, d) go."""

    def pull(self, points: Array, c: Array, gradient: Array) -> Array:
        """Return the gradient (k,) in the numbers, given that in the moved points, (n, d)."""


class Lattice:
    """Free-form deformation: control points of a box around a part move, and the part follows by B-splines.

    The displacement of a node is the sum of those of the control points, weighted by products of B-splines at its place
    in the box: cubic ones, or of a lower degree along axes of fewer than four points. Where nodes lie outside of the
    box, control points are added that rest, so that the displacement, its slope and its curvature fade to zero there.

    Parameters
    ----------
    mesh : Mesh
    shape : sequence of d ints
        Control points along every axis; 1 moves all along it alike.
    group : str, optional
        Name or pattern of groups: the box is around their nodes, with half its longest side added all around in which
        the motion fades; what lies on the border of the mesh rests. By default it is around the mesh, which all moves.
    box : sequence of (low, high), optional
        Instead of a group, for every coordinate.
    freeze : str, optional
        Name or pattern of groups whose nodes rest. The displacement of others is multiplied by a smooth function of
        their distance to these: one from a cell of the lattice on.
    axes : str
        Coordinates along which control points move, such as "xy"; all by default.
    reach : float
        How far each may move along an axis, as a share of the box.

    Examples
    --------
    >>> square = Mesh([[0, 0], [1, 0], [1, 1], [0, 1.0]], {"quad": [[0, 1, 2, 3]]}, groups={"left": [0, 3]})
    >>> lattice = Lattice(square, (2, 2), reach=0.5)
    >>> lattice.names[:2], lattice.high[:2].tolist()
    (['x at 1,1', 'x at 1,2'], [0.5, 0.5])
    >>> lattice.move(square.points, np.array([0.1, 0, 0, 0, 0, 0, 0, 0])).tolist()  # a corner
    [[0.1, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]]
    >>> Lattice(square, (2, 2), freeze="left").move(square.points, np.full(8, 0.1)).tolist()
    [[0.0, 0.0], [1.1, 0.1], [1.1, 1.1], [0.0, 1.0]]
    """

    def __init__(
        self,
        mesh: Mesh,
        shape: Sequence[int],
        *,
        group: str | None = None,
        box: Box | None = None,
        freeze: str | None = None,
        axes: str | None = None,
        reach: float = 0.2,
    ):
        points, d = mesh.points, mesh.dimension
        shape = _checked_shape(shape, d)
        directions = _checked_axes(axes, d)
        if not (np.isfinite(reach) and reach > 0):
            raise InputError(f"reach is {reach!r}, but a positive share of the box is expected.")
        low, high = _box(mesh, group, box)
        flat = high - low <= _FLAT * (high - low).max()
        size = np.where(flat, 1.0, high - low)
        inside = ((points >= low) & (points <= high)).all(axis=1)
        fades = ~flat & (group is not None or box is not None)  # along an axis without extent all moves alike
        self._n_nodes = len(points)
        factors = [
            _splines(points[inside, k], low[k], size[k], m, fades[k] and (points[:, k] <= low[k]).any(),
                     fades[k] and (points[:, k] >= high[k]).any())
            for k, m in enumerate(shape)
        ]  # fmt: skip
        weights = np.zeros((len(points), int(np.prod(shape))))
        together = factors[0]
        for own in factors[1:]:
            together = (together[:, :, None] * own[:, None, :]).reshape(len(together), -1)
        weights[inside] = together
        if freeze is not None:
            held = np.concatenate([own.nodes for own in chosen_groups(mesh.groups, freeze).values()])
            cell = float((size / np.array(shape)).max())
            weights *= _fade(KDTree(points[held]).query(points)[0] / cell)[:, None]
        self._weights = sparse.csr_array(weights)
        self._directions = directions
        places = [",".join(str(i + 1) for i in at) for at in product(*map(range, shape))]
        self.names = [f"{_AXES[k]} at {place}" for k in directions for place in places]
        self.high: Array = np.repeat(reach * size[directions], len(places))
        self.low: Array = -self.high

    def rest(self, points: Array) -> Array:
        """Return zeros, (k,)."""
        return np.zeros(len(self.names))

    def move(self, points: Array, c: Array) -> Array:
        """Return where points (n, d) go."""
        _check_points(points, self._n_nodes)
        moved = points.copy()
        moved[:, self._directions] += self._weights @ np.reshape(c, (len(self._directions), -1)).T
        return moved

    def pull(self, points: Array, c: Array, gradient: Array) -> Array:
        """Return the gradient (k,) in the control points, given that in the moved points, (n, d)."""
        return np.asarray((self._weights.T @ gradient[:, self._directions]).T.ravel())


class GroupMotions:
    """Shifts, turns and growth of the bodies of named groups; the mesh around them follows by springs.

    As in :func:`swwl.mesh.shape.motions.moved_group`, a body moves rigidly and grows from its center; all other nodes
    of the skin rest, and so do those of other groups of faces.

    Parameters
    ----------
    mesh : Mesh
        One with a skin.
    pattern : str
        Name or pattern of groups.
    reach : float
        How far bodies may be shifted, as a share of the size of the group that moves.

    Examples
    --------
    >>> square = [[0, 0], [2, 0], [2, 2], [0, 2], [1, 1.0]]
    >>> mesh = Mesh(square, [[0, 1, 4], [1, 2, 4], [2, 3, 4], [3, 0, 4]], groups={"right": [[1, 2]]})
    >>> motions = GroupMotions(mesh, "right")
    >>> motions.names
    ['right #1: x', 'right #1: y', 'right #1: rotation', 'right #1: size']
    >>> motions.move(mesh.points, np.array([0.1, 0, 0, -50.0]))[1:3].round(9).tolist()
    [[2.1, 0.5], [2.1, 1.5]]
    """

    def __init__(self, mesh: Mesh, pattern: str, *, reach: float = 0.1):
        if not (np.isfinite(reach) and reach > 0):
            raise InputError(f"reach is {reach!r}, but a positive share of the body is expected.")
        self._n_nodes = mesh.n_nodes
        self._layer, self._bodies = followed_bodies(mesh, pattern)
        d = self._bodies[0].fields.shape[1] - 1
        self._turns = _generators(d)
        axes = self._bodies[0].axes
        turns = ["rotation"] if d == 2 else [f"rotation {axis}" for axis in axes]
        self.names = [f"{body.name}: {kind}" for body in self._bodies for kind in [*axes, *turns, "size"]]
        reaches = [[*[reach * extent(body.points)] * d, *[_DEGREES] * len(turns), _PERCENT] for body in self._bodies]
        self.high: Array = np.concatenate(reaches)
        self.low: Array = -self.high

    def rest(self, points: Array) -> Array:
        """Return zeros, (k,)."""
        return np.zeros(len(self.names))

    def move(self, points: Array, c: Array) -> Array:
        """Return where points (n, d) go."""
        _check_points(points, self._n_nodes)
        total = np.zeros_like(self._bodies[0].fields[:, 1:])
        for body, own in zip(self._bodies, self._split(c), strict=True):
            total += body.fields @ self._affine(own)[0]
        return points + (total if self._layer is None else self._layer.lifted(total))

    def pull(self, points: Array, c: Array, gradient: Array) -> Array:
        """Return the gradient (k,) in the motions, given that in the moved points, (n, d)."""
        gradient = gradient if self._layer is None else self._layer.gathered(gradient)
        found = []
        for body, own in zip(self._bodies, self._split(c), strict=True):
            of_affine = body.fields.T @ gradient
            found.append([float((of_affine * slope).sum()) for slope in self._affine(own)[1]])
        return np.concatenate(found)

    def _split(self, c: Array) -> list[Array]:
        return np.split(np.asarray(c, dtype=np.float64), len(self._bodies))

    def _affine(self, c: Array) -> tuple[Array, list[Array]]:
        """Return what the fields of a body are multiplied by, (1 + d, d), and its derivatives in c."""
        d = len(self._turns[0])
        angles, growth = np.deg2rad(c[d:-1]), 1 + c[-1] / 100
        turn = np.tensordot(angles, self._turns, axes=1)
        matrix = expm(turn)
        found = np.vstack([c[:d], (growth * matrix - np.eye(d)).T])
        slopes = [np.vstack([one, np.zeros((d, d))]) for one in np.eye(d)]
        parts = [np.deg2rad(growth) * expm_frechet(turn, own, compute_expm=False) for own in self._turns]
        slopes += [np.vstack([np.zeros(d), part.T]) for part in [*parts, matrix / 100]]
        return found, slopes


class ModeMotions:
    """Motions along the displacement modes of training meshes, which need one topology.

    Parameters
    ----------
    modes : Modes
        From :func:`swwl.design.displacement_modes`. The numbers are coordinates of the moved mesh along them, in
        standard deviations of the training meshes, between the least and the largest of these.

    Examples
    --------
    >>> from swwl.design import displacement_modes
    >>> rods = [Mesh([[0.0], [length]], [[0, 1]]) for length in (1.0, 2.0, 3.0)]
    >>> motions = ModeMotions(displacement_modes(rods))
    >>> motions.move(rods[0].points, motions.rest(rods[2].points)).round(6).tolist()
    [[0.0], [3.0]]
    """

    def __init__(self, modes: Modes):
        self.modes = modes
        self.names = modes.names
        self.low: Array = modes.coordinates.min(axis=0)
        self.high: Array = modes.coordinates.max(axis=0)

    def rest(self, points: Array) -> Array:
        """Return the coordinates of points, (k,)."""
        if points.shape != self.modes.mean.shape:
            raise InputError(
                f"The mesh has points of shape {points.shape}, but the modes move points of {self.modes.mean.shape}."
            )
        return self.modes.locate(points)

    def move(self, points: Array, c: Array) -> Array:
        """Return points (n, d) moved to other coordinates; what the modes do not hold of them is kept."""
        return points + self.modes.move(c - self.rest(points))

    def pull(self, points: Array, c: Array, gradient: Array) -> Array:
        """Return the gradient (k,) in the coordinates, given that in the moved points, (n, d)."""
        return np.tensordot(self.modes.displacements, gradient, axes=2)


def as_deformation(given: Deformation | Modes) -> Deformation:
    """Return displacement modes as a deformation, and others as they are."""
    if isinstance(given, Modes):
        return ModeMotions(given)
    if not isinstance(given, Deformation):
        raise InputError(f"A Lattice, GroupMotions or displacement modes are expected, not {type(given).__name__}.")
    return given


def _splines(x: Array, low: float, size: float, m: int, held_low: bool, held_high: bool) -> Array:
    """Return the values (n, m) of m free B-splines at places of one axis, beside those that rest at its ends."""
    degree = _DEGREE if held_low or held_high else min(_DEGREE, m - 1)
    before, after = (degree if held else 0 for held in (held_low, held_high))
    count = max(m + before + after, degree + 1)
    knots = np.concatenate([np.zeros(degree), np.linspace(0, 1, count - degree + 1), np.ones(degree)])
    share = np.clip((x - low) / size, 0.0, 1.0)
    return np.asarray(BSpline.design_matrix(share, knots, degree).toarray()[:, before : before + m])


def _fade(share: Array) -> Array:
    """Return 0 at 0 and 1 from 1 on, with no slope and no curvature there."""
    t = np.clip(share, 0.0, 1.0)
    return np.asarray(t**3 * (10 - 15 * t + 6 * t**2))


def _box(mesh: Mesh, group: str | None, box: Box | None) -> tuple[Array, Array]:
    """Return the lowest and the highest corner of the box around what moves."""
    points = mesh.points
    if group is not None and box is not None:
        raise InputError("Give a group or a box, not both.")
    if box is not None:
        try:
            low, high = np.array(box, dtype=np.float64).reshape(-1, 2).T
        except (TypeError, ValueError):
            raise InputError(f"box is {box!r}, but (low, high) is expected for every coordinate.") from None
        if len(low) != points.shape[1] or not (low < high).all():
            raise InputError(f"box is {box!r}, but {points.shape[1]} pairs (low, high) are expected, low below high.")
        if not ((points > low) & (points < high)).all(axis=1).any():
            raise InputError("There is no node in the box.")
        return np.maximum(low, points.min(axis=0)), np.minimum(high, points.max(axis=0))
    if group is None:
        return points.min(axis=0), points.max(axis=0)
    nodes = np.concatenate([own.nodes for own in chosen_groups(mesh.groups, group).values()])
    if not len(nodes):
        raise InputError(f"Group {group!r} is empty.")
    own = points[nodes]
    margin = _MARGIN * extent(own)
    return (
        np.maximum(own.min(axis=0) - margin, points.min(axis=0)),
        np.minimum(own.max(axis=0) + margin, points.max(axis=0)),
    )


def _checked_shape(shape: Sequence[int], d: int) -> list[int]:
    try:
        found = [int(m) for m in shape]
        whole = all(m == given and m >= 1 for m, given in zip(found, shape, strict=True))
    except (TypeError, ValueError):
        found, whole = [], False
    if len(found) != d or not whole or not any(m > 1 for m in found):
        raise InputError(f"The lattice is {shape!r}, but {d} whole numbers are expected, such as {[4, 3, 3][:d]}.")
    return found


def _checked_axes(axes: str | None, d: int) -> list[int]:
    names = _AXES[:d] if axes is None else axes
    if not names or any(name not in _AXES[:d] for name in names) or len(set(names)) < len(names):
        raise InputError(f"axes are {axes!r}, but some of {', '.join(_AXES[:d])} are expected, each once.")
    return [_AXES.index(name) for name in names]


def _check_points(points: Array, n: int) -> None:
    if len(points) != n:
        raise InputError(f"The deformation moves {n} nodes, but the mesh has {len(points)}.")


def _generators(d: int) -> Array:
    """Return the derivatives of rotations in their angles at rest: (1, 2, 2) or (3, 3, 3)."""
    if d == 2:
        return np.array([[[0.0, -1.0], [1.0, 0.0]]])
    return np.array([np.cross(np.eye(3), one) for one in -np.eye(3)]).transpose(0, 2, 1)
