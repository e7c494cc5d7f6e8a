r"""Numbers of a part that do not depend on its mesh: sizes, and moments of its skin, of its edges and of its corners.

They are made of the moments of ``curvature.py``. Lengths are divided by the radius of the skin, :math:`R^2` the mean
square distance of its points from their center, so that all numbers but those of the size itself are plain.
:func:`part_row_back` is the transposed derivative.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from swwl.errors import InputError
from swwl.mesh.arrays import AnyArray
from swwl.mesh.mesh import Mesh
from swwl.mesh.shape.adjoints import shared_by_place
from swwl.mesh.shape.curvature import measure_names, pairs, part_moments, part_moments_back
from swwl.mesh.shape.skin import Skin, skin

_Floats = NDArray[np.float64]

# What numbers are made of.
MEASURES = ("sizes", "faces", "edges", "corners")
# What is added to volumes, sides and masses, relative to what they are compared with, so that none is zero.
_HOLLOW, _FLAT, _NOWHERE = 1e-4, 1e-3, 2e-3


def part_numbers(mesh: Mesh, found: Skin | None = None) -> dict[str, _Floats]:
    """Return the numbers of a part, a row for every one of :data:`MEASURES`; :func:`part_number_names` names them.

    Parameters
    ----------
    mesh : Mesh
        One with a skin, see :func:`swwl.mesh.shape.skin.skin`.
    found : Skin, optional
        Of the mesh, where it is known.

    Returns
    -------
    dict of str to ndarray
        ``sizes``: center of the skin in radii; logarithms of its area, of the volume, of their ratio, of the sides of
        the box, of the deviations of the volume along the axes, and of how much of the skin looks along each axis; the
        center of the volume beside that of the skin. ``faces``: for every direction of an axis the share of the skin
        that looks there, where it lies, and how it spreads. ``edges`` and ``corners``: the moments of where the skin
        bends. In the plane, length and area take the place of area and volume, and there are no edges.

    Examples
    --------
    >>> square = Mesh([[0, 0], [2, 0], [2, 2], [0, 2]], [[0, 1, 2], [0, 2, 3]])
    >>> numbers = part_numbers(square)
    >>> numbers["sizes"][:3].round(3).tolist()  # center, and the logarithm of how long the skin is
    [0.866, 0.866, 2.079]
    >>> float(numbers["corners"][0].round(6))  # the number of parts, less that of holes
    1.0
    """
    found = found or skin(mesh)
    moments, box = _seen(mesh, found)
    return _numbers(moments, box)


def part_number_names(dimension: int) -> dict[str, list[str]]:
    """Name the numbers of :func:`part_numbers`.

    Examples
    --------
    >>> part_number_names(2)["sizes"][:5]
    ['center x', 'center y', 'log skin', 'log inside', 'log inside per skin']
    """
    axes, measures = "xyz"[:dimension], measure_names(dimension)
    sizes = [f"center {a}" for a in axes] + ["log skin", "log inside", "log inside per skin"]
    for what in ("log box side", "log deviation of inside,", "log skin facing", "offset of inside,"):
        sizes += [f"{what} {a}" for a in axes]
    found = {"sizes": sizes, "faces": [], "edges": [], "corners": []}
    seconds = ["xyz"[i] + "xyz"[j] for i, j in pairs(dimension)]
    for name in measures[2:]:
        if name.startswith("skin"):
            own = ["share", *(f"offset {a}" for a in axes), *(f"deviation {a}" for a in axes)]
            found["faces"] += [f"{name}: {k}" for k in own + [s for s in seconds if s[0] != s[1]]]
        else:
            own = [f"{name}: {k}" for k in ("total", *(f"moment {a}" for a in axes), *(f"moment {s}" for s in seconds))]
            found["corners" if name == "corners" else "edges"] += own
    return found


def part_row_back(mesh: Mesh, gradient: _Floats, found: Skin | None = None) -> _Floats:
    """Return the gradient in the nodes of what is made of :func:`part_row`.

    Where several nodes of a surface stand at one place, they have equal shares of its gradient.

    Parameters
    ----------
    mesh : Mesh
    gradient : ndarray of shape (K, m)
        In the numbers, of m functions.
    found : Skin, optional

    Returns
    -------
    ndarray of shape (n, d, m)
    """
    found = found or skin(mesh)
    moments, box = _seen(mesh, found)
    # The numbers are few and analytic in few moments: imaginary steps give all slopes to the last digit.
    given = np.concatenate([moments.ravel(), box])
    step = 1e-30
    slopes = np.empty((len(gradient), len(given)))
    for k in range(len(given)):
        moved = given.astype(complex)
        moved[k] += 1j * step
        rows = _numbers(moved[: moments.size].reshape(moments.shape), moved[moments.size :])
        slopes[:, k] = np.concatenate(list(rows.values())).imag / step
    back = slopes.T @ gradient
    in_moments = back[: moments.size].reshape(*moments.shape, -1)
    total = part_moments_back(mesh.points, found, _center(mesh), in_moments)
    nodes = _used(mesh, found)
    for axis, row in enumerate(mesh.points.T):
        for sign, place in ((1, nodes[row[nodes].argmax()]), (-1, nodes[row[nodes].argmin()])):
            total[place, axis] += sign * back[moments.size + axis]
    return shared_by_place(mesh, total)


def _center(mesh: Mesh) -> _Floats:
    """Return a place near the mesh, about which moments are taken; the numbers do not depend on it."""
    return np.asarray(mesh.points.mean(axis=0))


def _seen(mesh: Mesh, found: Skin) -> tuple[_Floats, _Floats]:
    """Return the moments of a part about a fixed place, and the sides of its box with that place."""
    center = _center(mesh)
    moments = part_moments(mesh.points, found, center)
    if not moments[0, 0] > 0:
        raise InputError("The skin of the mesh has no area.")
    box = np.ptp(mesh.points[_used(mesh, found)], axis=0)
    return moments, np.concatenate([box, center])


def part_columns(width: int, which: Sequence[str]) -> tuple[int, NDArray[np.intp]]:
    """Return the dimension of parts whose numbers fill a row of so many, and where those of ``which`` are in it.

    Examples
    --------
    >>> part_columns(43, ["corners"])
    (2, array([37, 38, 39, 40, 41, 42]))
    """
    for d in (2, 3):
        names = part_number_names(d)
        if sum(map(len, names.values())) == width:
            ends = np.cumsum([len(own) for own in names.values()])
            spans = {name: np.arange(end - len(own), end) for end, (name, own) in zip(ends, names.items(), strict=True)}
            return d, np.concatenate([spans[name] for name in MEASURES if name in which])
    raise InputError(f"A row of {width} numbers is not that of a part.")


def part_row(mesh: Mesh, found: Skin | None = None) -> _Floats:
    """Return all numbers of a part, one after the other in the order of :data:`MEASURES`."""
    return np.concatenate(list(part_numbers(mesh, found).values()))


def _used(mesh: Mesh, found: Skin) -> NDArray[np.intp]:
    """Return the nodes of the skin."""
    return np.flatnonzero(np.bincount(found.pieces.ravel(), minlength=mesh.n_nodes))


def _numbers(moments: AnyArray, box: AnyArray) -> dict[str, AnyArray]:
    """Return the numbers, given moments (measures, moments), the sides of the box, and the place of the moments."""
    d = len(box) // 2
    sides, place = box[:d], box[d:]
    names, seconds = measure_names(d), pairs(d)
    area, center = moments[0, 0], moments[0, 1 : d + 1] / moments[0, 0]
    about = [_about(own, center, d) for own in moments]
    skin_matrix = about[0][2] / area
    radius = np.sqrt(np.trace(skin_matrix))
    hollow = _HOLLOW * area * radius
    inside, first, second = about[1]
    if inside.real <= 0:
        inside, first, second = 0 * inside, 0 * first, 0 * second
    matrix = (second + hollow * skin_matrix) / (inside + hollow)
    offset = first / (inside + hollow)
    deviations = np.sqrt(np.diagonal(matrix) - offset**2)
    log_inside, log_area = np.log(inside + hollow), np.log(area)
    facing = [(moments[2 + 2 * k, 0] + moments[3 + 2 * k, 0]) / area for k in range(d)]
    sizes = [
        (place + center) / radius,
        np.array([log_area, log_inside, log_inside - log_area]),
        np.log(sides + _FLAT * radius),
        np.log(deviations + _FLAT * radius),
        np.log(np.array(facing) + _FLAT),
        offset / radius,
    ]
    faces, edges, corners = list[AnyArray](), list[AnyArray](), list[AnyArray]()
    for name, (mass, own_first, own_second) in zip(names[2:], about[2:], strict=True):
        if name.startswith("skin"):
            nowhere = _NOWHERE * area
            mean = own_first / (mass + nowhere)
            spread = (own_second + nowhere * skin_matrix) / (mass + nowhere) - np.outer(mean, mean)
            faces.append(np.concatenate([[mass / area], mean / radius, np.sqrt(np.diagonal(spread)) / radius]))
            faces.append(np.array([spread[i, j] / radius**2 for i, j in seconds if i != j]))
        else:
            unit = (4 if d == 3 else 2) * np.pi if name == "corners" else radius
            row = [[mass], own_first / radius, [own_second[i, j] / radius**2 for i, j in seconds]]
            (corners if name == "corners" else edges).append(np.concatenate(row) / unit)
    none = np.empty(0)
    found = {"sizes": sizes, "faces": faces, "edges": edges or [none], "corners": corners}
    return {name: np.concatenate(parts) for name, parts in found.items()}


def _about(moments: AnyArray, center: AnyArray, d: int) -> tuple[AnyArray, AnyArray, AnyArray]:
    """Return total, first moments (d,) and second moments (d, d) about another center."""
    mass, first = moments[0], moments[1 : d + 1]
    second = np.empty((d, d), dtype=moments.dtype)
    for value, (i, j) in zip(moments[d + 1 :], pairs(d), strict=True):
        second[i, j] = second[j, i] = value - center[i] * first[j] - center[j] * first[i] + mass * center[i] * center[j]
    return mass, first - mass * center, second
