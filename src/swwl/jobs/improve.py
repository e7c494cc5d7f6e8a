"""From a model and a mesh to a better mesh: what ``swwl improve`` does."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import numpy as np

from swwl.design.ascent import Improvement
from swwl.design.deformation import Deformation, GroupMotions, Lattice
from swwl.embedding.components import Modes, displacement_modes
from swwl.errors import InputError
from swwl.formatting import Record
from swwl.jobs.explain import read_where, training_meshes
from swwl.jobs.predict import factors_of
from swwl.mesh.io import as_mesh
from swwl.mesh.mesh import Mesh
from swwl.mesh.remesh.plane import flattened, thin_layer
from swwl.regression.estimator import RobustGPRegressor

ALONG = ("lattice", "motions", "modes")
# By this field a mesh says that this wrote it.
FIELD = "displacement"
_USUAL = (4, 3, 3)


class MoveOptions(NamedTuple):
    """How a mesh may move, as texts of the command.

    Attributes
    ----------
    along : {"lattice", "motions", "modes"}
    lattice : str or None
        Control points along every axis, with commas.
    group, freeze : str or None
        Names or patterns of groups.
    box : str or None
        LOW:HIGH for every coordinate, with commas.
    axes : str or None
    reach : float or None
    """

    along: str = "lattice"
    lattice: str | None = None
    group: str | None = None
    freeze: str | None = None
    box: str | None = None
    axes: str | None = None
    reach: float | None = None


def make_deformation(way: MoveOptions, mesh: Mesh, model: RobustGPRegressor, path: Path) -> Deformation | Modes:
    """Return the deformation that is asked for; refuse options that do not belong to it.

    Parameters
    ----------
    way : MoveOptions
    mesh : Mesh
        At rest.
    model : RobustGPRegressor
    path : path
        Of the model file: training meshes are looked for beside it.

    Examples
    --------
    >>> square = Mesh([[0, 0], [1, 0], [1, 1], [0, 1.0]], {"quad": [[0, 1, 2, 3]]})
    >>> len(make_deformation(MoveOptions(lattice="3,2"), square, RobustGPRegressor(), Path("m.swwl")).names)
    12
    """
    if way.along not in ALONG:
        raise InputError(f"--along is {way.along!r}, but one of {', '.join(ALONG)} is expected.")
    options: dict[str, set[str]] = {
        "lattice": set(MoveOptions._fields),
        "motions": {"along", "group", "reach"},
        "modes": {"along"},
    }
    for name in sorted(set(MoveOptions._fields) - options[way.along]):
        if getattr(way, name) is not None:
            raise InputError(f"--{name} cannot be combined with --along {way.along}.")
    reach: Mapping[str, float] = {} if way.reach is None else {"reach": way.reach}
    if way.along == "modes":
        known = training_meshes(model, path)
        return displacement_modes((flattened(as_mesh(one)) for one in known) if mesh.dimension == 2 else known)
    if way.along == "motions":
        if way.group is None:
            raise InputError("--along motions moves the bodies of a group: name it by --group.")
        return GroupMotions(mesh, way.group, **reach)
    box = None if way.box is None else read_where(way.box)
    if isinstance(box, str):
        raise InputError(f"--box is {way.box!r}, but LOW:HIGH is expected for every coordinate, such as 0:1,-0.5:0.5.")
    shape = _USUAL[: mesh.dimension] if way.lattice is None else read_lattice(way.lattice)
    return Lattice(mesh, shape, group=way.group, box=box, freeze=way.freeze, axes=way.axes, **reach)


def read_lattice(text: str) -> list[int]:
    """Read numbers of control points.

    >>> read_lattice("4,3,3")
    [4, 3, 3]
    """
    try:
        return [int(part) for part in text.split(",")]
    except ValueError:
        raise InputError(f"--lattice is {text!r}, but whole numbers are expected, such as 4,3,3.") from None


def read_volume(text: str | None) -> str | tuple[float | None, float | None] | None:
    """Read keep, or LOW:HIGH relative to the start, open where a bound is left out.

    >>> read_volume("0.9:1.1"), read_volume(":1"), read_volume("keep")
    ((0.9, 1.1), (None, 1.0), 'keep')
    """
    if text is None or text == "keep":
        return text
    try:
        low, high = (float(part) if part else None for part in text.split(":"))
    except ValueError:
        raise InputError(f"--volume is {text!r}, but keep or LOW:HIGH relative to the start is expected.") from None
    return low, high


def mesh_to_move(model: RobustGPRegressor, mesh: Mesh) -> Mesh:
    """Return the mesh that moves: the plane mesh of one that is one cell thick, where the model learned such ones."""
    plane = any(getattr(getattr(factor, "embedding_", None), "plane_", False) for factor in factors_of(model))
    return flattened(mesh) if plane and thin_layer(mesh) is not None else mesh


def mesh_with_motion(found: Improvement, start: Mesh) -> Mesh:
    """Return the better mesh with a field of how far its nodes have moved, (n, d); of a layer both sides alike."""
    layer = thin_layer(start) if found.mesh.dimension < start.dimension else None
    if layer is not None:
        moved = layer.lifted(found.mesh.points - layer.points)
        own = start.points + moved, start.cells, start.fields, found.mesh.name
        return Mesh(*own, cell_fields=start.cell_fields, groups=start.groups).with_fields({FIELD: moved})
    return found.mesh.with_fields({FIELD: found.mesh.points - start.points})


def is_improved(path: Path) -> bool:
    """Whether a file is a mesh that this wrote."""
    return f'"{FIELD}"'.encode() in path.read_bytes()[: 1 << 16]


def facts_of(found: Improvement, target: str) -> Record:
    """Return what there is to say of an improvement, for JSON."""
    return {
        "target": target,
        "start": {"mean": found.start_mean, "lower95": found.start_interval[0], "upper95": found.start_interval[1]},
        "found": {"mean": found.mean, "lower95": found.interval[0], "upper95": found.interval[1]},
        "others": found.others,
        "inside": found.inside,
        "why": found.why,
        "volume": None if np.isnan(found.volume) else found.volume,
        "least_cell": found.least_cell,
        "largest_move": found.largest_move,
        "motions": len(found.coordinates),
        "evaluations": found.n_evaluations,
    }
