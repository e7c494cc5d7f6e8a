"""How a prediction changes when nodes move and when numbers change: exact derivatives, in double precision.

``RobustGPRegressor.sensitivity`` is a shell around this. ``Stack.linearize`` differentiates a prediction; here are what
it is asked for and what is made of its answer.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from swwl.embedding.components import Modes, same_cells
from swwl.embedding.linear import Source, as_movable
from swwl.errors import InputError, located
from swwl.mesh.arrays import AnyArray
from swwl.mesh.graph import Graph
from swwl.mesh.io import as_mesh
from swwl.mesh.mesh import Mesh, trusted_mesh
from swwl.mesh.remesh.plane import ThinLayer, flattened, thin_layer
from swwl.mesh.shape.density import skin_density
from swwl.mesh.shape.motions import LENGTH, Motion, group_motions
from swwl.mesh.shape.skin import extent
from swwl.parallel import one_blas_thread
from swwl.regression.stack import Stack
from swwl.tables.inputs import column

if TYPE_CHECKING:
    from swwl.regression.estimator import RobustGPRegressor

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Sensitivity:
    """Derivatives of one prediction: of its mean and, in :attr:`std`, of its standard deviation.

    Attributes
    ----------
    target : str
    value : float
        What is differentiated: the predicted mean (of :attr:`std`, the standard deviation).
    mesh : Mesh, Graph or None
        Whose nodes move; None for models of numbers alone.
    gradient : ndarray of shape (n, d)
        The derivative in every coordinate of every node; zero at nodes that may not move (``where=``).
    inputs : dict of str to float
        The derivative in every number, per unit of its column.
    along : Series
        The derivative along every displacement that was given, per displacement, and along every motion.
    std : Sensitivity or None
        The same of the standard deviation.
    movable : ndarray of shape (n,), bool
    layer : ThinLayer or None
        Of a mesh one cell thick that the model takes for a plane one.
    moves : tuple of Motion
        Motions of groups that were requested (``motions=``).
    """

    target: str
    value: float
    mesh: Mesh | Graph | None
    gradient: Array
    inputs: dict[str, float]
    along: pd.Series
    movable: NDArray[np.bool_] = field(repr=False)
    std: Sensitivity | None = None
    layer: ThinLayer | None = field(default=None, repr=False)
    moves: tuple[Motion, ...] = field(default=(), repr=False)

    @property
    def motions(self) -> pd.DataFrame:
        """The derivative along every motion of a group: ``group``, ``body``, ``motion``, ``derivative``, ``per``.

        Body 0 is a whole group of several bodies. See :func:`swwl.regression.sensitivity.motion_table` for standard
        deviations.
        """
        lines = [(own.group, own.body, own.kind, float(self.along[own.name]), own.per) for own in self.moves]
        return pd.DataFrame(lines, columns=["group", "body", "motion", "derivative", "per"])

    def density(self, length: float = 0.0, most: float | None = None) -> Array:
        """Return the gradient per length (in the plane) or area of the skin, (n, d); zero at nodes inside.

        Of a mesh one cell thick that is taken for a plane one, per length, the same on both sides.

        Parameters
        ----------
        length : float
            Over how far to smooth it, in units of the coordinates; 0 does not.
        most : float, optional
            Cut down, before that, the nodes where it exceeds so many times what nine in ten nodes stay below: for
            pictures. A model that looks at the outermost nodes has a spike at each of them.
        """
        return self._density(length, most)[0]

    def normal_density(self, length: float = 0.0, most: float | None = None) -> Array:
        """Return the part of :meth:`density` along the outward normal, (n,): what pushing the skin outward brings.

        Outward is away from the cells: of a flow around a body, into the body.
        """
        density, normals = self._density(length, most)
        return np.asarray((density * normals).sum(axis=1))

    @property
    def normal(self) -> Array:
        """The normal part of the density, not smoothed, (n,)."""
        return self.normal_density()

    def _density(self, length: float, most: float | None = None) -> tuple[Array, Array]:
        if not isinstance(self.mesh, Mesh):
            raise InputError("A density needs the skin of a mesh, but there are no cells.")
        if not (np.isfinite(length) and length >= 0):
            raise InputError(f"length is {length!r}, but a number of at least 0 is expected.")
        mesh, load, movable, layer = self.mesh, self.gradient, self.movable, self.layer
        if layer is not None:
            mesh, load = flattened(mesh), layer.gathered(load)
            movable = np.bincount(layer.number, movable) > 0
        if most is not None:
            size = np.linalg.norm(skin_density(mesh, load, 0.0, movable)[0], axis=1)
            limit = most * float(np.quantile(size[size > 0], 0.9)) if size.any() else 1.0
            load = load * np.divide(limit, size, out=np.ones_like(size), where=size > limit)[:, None]
        density, normals = skin_density(mesh, load, float(length), movable)
        return (density, normals) if layer is None else (layer.lifted(density), layer.lifted(normals))


def sensitivities(
    stack: Stack,
    table: pd.DataFrame,
    target: str | None = None,
    along: Any = None,
    where: Any = None,
    std: bool = True,
    motions: str | None = None,
) -> list[Sensitivity]:
    """Return the sensitivities of predictions of a table, as :meth:`swwl.RobustGPRegressor.sensitivity` says."""
    names = list(stack.layout.names)
    if target is not None and target not in names:
        raise InputError(f"target is {target!r}, but the model predicts {', '.join(map(repr, names))}.")
    chosen = [names.index(target)] if target is not None else list(range(len(names)))
    stack.check_differentiable(std)
    found = []
    with one_blas_thread():  # many thin products, as in predictions: more threads wait longer than they work
        for number in range(len(table)):
            try:
                found += _of_row(stack, table.iloc[[number]], chosen, along, where, std, motions)
            except InputError as error:
                raise error.of_item(number, f"Row {number}") if len(table) > 1 else error from None
    return found


def _of_row(
    stack: Stack,
    row: pd.DataFrame,
    chosen: Sequence[int],
    along: Any,
    where: Any,
    std: bool,
    motions: str | None = None,
) -> list[Sensitivity]:
    graphs = [f.column for f in stack.kernel.factors if f.takes == "graphs"]
    if len(set(graphs)) > 1:
        raise InputError(
            f"The model has several columns of meshes ({', '.join(sorted(set(graphs)))}); one is supported."
        )
    mesh: Mesh | Graph | None = None
    values = {name: column(row, name).iloc[0] for name in stack.kernel.columns}
    if graphs:
        with located(f"Column {graphs[0]!r}"):
            mesh = as_movable(values[graphs[0]])
        values[graphs[0]] = Source(mesh)  # all factors share what is found of it
    movable, of_groups = movable_nodes(where, mesh), _of_groups(motions, mesh)
    moves = displacements(along, mesh) | {own.name: own.velocity for own in of_groups}
    moments, columns = stack.linearize(values, row, chosen, std)
    gradient = columns.pop(graphs[0]) if graphs else np.zeros((0, 0, moments.size))
    plane = any(getattr(getattr(f, "embedding_", None), "plane_", False) for f in stack.kernel.factors)
    layer = thin_layer(mesh) if plane and isinstance(mesh, Mesh) else None
    results = []
    for j, place in enumerate(chosen):
        pair = []
        for kind in range(1 + std):
            k = 2 * j + kind if std else j
            own = gradient[:, :, k]
            pair.append(
                Sensitivity(
                    stack.layout.names[place],
                    float(moments[kind, j]),
                    mesh,
                    np.where(movable[:, None], own, 0.0),
                    {name: float(slopes[k]) for name, slopes in columns.items()},
                    pd.Series({name: float((own * by).sum()) for name, by in moves.items()}, dtype=float),
                    movable,
                    layer=layer,
                    moves=of_groups,
                )
            )
        mean = pair[0]
        results.append(Sensitivity(**{**vars(mean), "std": pair[1] if std else None}))
    return results


def movable_nodes(where: Any, mesh: Mesh | Graph | None) -> NDArray[np.bool_]:
    """Return which nodes may move, (n,), given a mask, node numbers, a name of groups, or nothing for all of them."""
    n = 0 if mesh is None else mesh.n_nodes
    if where is None:
        return np.ones(n, bool)
    given: AnyArray = _with_groups(mesh).group(where).nodes if isinstance(where, str) else np.asarray(where)
    if given.dtype == bool:
        if given.shape != (n,):
            raise InputError(f"where has shape {given.shape}, but the mesh has {n} nodes.")
        return given.copy()
    if given.ndim != 1 or not np.issubdtype(given.dtype, np.integer) or ((given < 0) | (given >= n)).any():
        raise InputError(f"where must be a mask of {n} nodes, or numbers from 0 to {n - 1}.")
    mask = np.zeros(n, bool)
    mask[given] = True
    return mask


def _with_groups(mesh: Mesh | Graph | None) -> Mesh:
    if not isinstance(mesh, Mesh):
        raise InputError("Groups are named parts of meshes, but the case has no mesh.")
    return mesh


def _of_groups(pattern: str | None, mesh: Mesh | Graph | None) -> tuple[Motion, ...]:
    """Return the motions of the groups that a pattern means; none without."""
    return () if pattern is None else tuple(group_motions(_with_groups(mesh), pattern))


def displacements(along: Any, mesh: Mesh | Graph | None) -> dict[str, Array]:
    """Return the displacements (n, d) along which derivatives are requested, by name.

    Parameters
    ----------
    along : None, Modes, mapping of name to displacement, sequence of them, or one
        A displacement is an (n, d) array, a mesh of the same cells to which the nodes go, or a pair of such meshes.
    mesh : Mesh, Graph or None
        Whose nodes move.

    Examples
    --------
    >>> rod = Mesh([[0.0], [1.0]], [[0, 1]])
    >>> displacements({"longer": [[0.0], [0.1]], "there": Mesh([[0.0], [3.0]], [[0, 1]])}, rod)["there"].tolist()
    [[0.0], [2.0]]
    """
    if along is None:
        return {}
    if mesh is None:
        raise InputError("along= moves the nodes of a mesh, but the model has no column of meshes.")
    if isinstance(along, str) and along == "modes":
        raise InputError("The model does not hold its training meshes: give along=displacement_modes(train['mesh']).")
    if isinstance(along, Modes):
        along = dict(zip(along.names, along.displacements, strict=True))
    if not isinstance(along, Mapping):
        several = isinstance(along, list) or (isinstance(along, np.ndarray) and along.ndim == 3)
        along = {f"displacement {k + 1}": own for k, own in enumerate(along if several else [along])}
    return {str(name): _displacement(own, mesh, str(name)) for name, own in along.items()}


def _displacement(given: Any, mesh: Mesh | Graph, name: str) -> Array:
    points = mesh.points if isinstance(mesh, Mesh) else mesh.features
    if isinstance(given, tuple) and len(given) == 2:
        first, second = (_of_same_cells(own, mesh, name) for own in given)
        return second.points - first.points
    if isinstance(given, (Mesh, str, os.PathLike)):
        return _of_same_cells(given, mesh, name).points - points
    try:
        array = np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError(f"Displacement {name!r} must be an array of shape {points.shape}, or meshes.") from None
    if array.shape != points.shape:
        raise InputError(
            f"Displacement {name!r} has shape {array.shape}, but the mesh has points of shape {points.shape}."
        )
    if not np.isfinite(array).all():
        raise InputError(f"Displacement {name!r} holds values that are not finite.")
    return array


def _of_same_cells(given: Any, mesh: Mesh | Graph, name: str) -> Mesh:
    with located(f"Displacement {name!r}"):
        other = as_mesh(given)
    if isinstance(mesh, Graph) or not same_cells(other, mesh):
        raise InputError(f"Displacement {name!r} must have a mesh with the cells of the mesh that moves.")
    return other


# Slopes are told from the joint prediction of two cases so far apart: of the training deviation of a number, and of the
# extent of a mesh for the node that moves farthest.
_OF_DEVIATION, _OF_EXTENT = 0.1, 0.01
_95 = 1.959963985
COLUMNS = ["target", "what", "kind", "derivative", "std", "lower95", "upper95", "unit", "of_std"]


def slope_table(
    model: RobustGPRegressor, row: pd.DataFrame, found: Sequence[Sensitivity], along: Any = None
) -> pd.DataFrame:
    """Return the derivatives of one case, with the standard deviations of slopes that the model itself states.

    The plain process knows not only values but also how they go together, so it says how uncertain the slope between
    two nearby cases is. That counts what the training cases leave open, not whether the kernel suits.

    Parameters
    ----------
    model : RobustGPRegressor
    row : DataFrame
        Of one row.
    found : sequence of Sensitivity
        What ``model.sensitivity(row, along=along)`` returned, of some or all targets; with ``motions=``, their
        derivatives are in the table, too.
    along : optional
        The same displacements.

    Returns
    -------
    DataFrame
        ``target``, ``what`` (the number or displacement), ``kind`` ("number", "displacement" or "motion"),
        ``derivative`` per unit of the number, per displacement or per unit of the motion, its ``std``, ``lower95`` and
        ``upper95``, ``unit`` (what to multiply by to compare: a deviation of the number in training, a hundredth of the
        size of the mesh for shifts of groups, 1 for others), and ``of_std``, the derivative of the predictive standard
        deviation.
    """
    mesh = found[0].mesh
    moves = {name: ("displacement", 1.0, by) for name, by in displacements(along, mesh).items()}
    for motion in found[0].moves:
        unit = _OF_EXTENT * extent(_points(mesh)) if motion.per == LENGTH else 1.0
        moves[motion.name] = "motion", unit, motion.velocity
    column = next((name for name in model.feature_names_in_ if name not in found[0].inputs), None)
    train = model.train_inputs_
    steps: dict[str, tuple[str, float, float]] = {}
    rows = []
    for name in found[0].inputs:
        spread = float(train[name].std(ddof=0)) if name in train and train[name].std(ddof=0) > 0 else 1.0
        steps[name] = "number", _OF_DEVIATION * spread, spread
        rows += [row.assign(**{name: row[name].astype(float) + sign * steps[name][1]}) for sign in (1, -1)]
    for name, (kind, unit, by) in moves.items():
        size = float(np.linalg.norm(by, axis=1).max())
        steps[name] = kind, _OF_EXTENT * extent(_points(mesh)) / size if size > 0 else 1.0, unit
        rows += [row.assign(**{str(column): [_moved(mesh, sign * steps[name][1] * by)]}) for sign in (1, -1)]
    if not rows:
        return pd.DataFrame(columns=COLUMNS)
    cases = model.stack_.represent(pd.concat(rows, ignore_index=True))
    _, covariance = model.stack_.joint(cases, include_nugget=False)
    lines = []
    for own in found:
        joint = covariance[list(model.target_names_).index(own.target)]
        for k, (name, (kind, step, unit)) in enumerate(steps.items()):
            pair = joint[2 * k : 2 * k + 2, 2 * k : 2 * k + 2]
            std = float(np.sqrt(max(pair[0, 0] + pair[1, 1] - 2 * pair[0, 1], 0.0))) / (2 * step)
            slope = own.inputs[name] if kind == "number" else float(own.along[name])
            of_std = None
            if own.std is not None:
                of_std = own.std.inputs[name] if kind == "number" else float(own.std.along[name])
            line = [own.target, name, kind, slope, std, slope - _95 * std, slope + _95 * std, unit, of_std]
            lines.append(dict(zip(COLUMNS, line, strict=True)))
    return pd.DataFrame(lines)


def motion_table(model: RobustGPRegressor, row: pd.DataFrame, found: Sequence[Sensitivity]) -> pd.DataFrame:
    """Return the derivatives of one case along motions of groups, with standard deviations as of :func:`slope_table`.

    Parameters
    ----------
    model : RobustGPRegressor
    row : DataFrame
        Of one row.
    found : sequence of Sensitivity
        What ``model.sensitivity(row, motions="body*")`` returned.

    Returns
    -------
    DataFrame
        ``target``, ``group``, ``body`` (from 1; 0 is a whole group of several), ``motion``, ``derivative``, ``std``,
        ``lower95``, ``upper95``, ``per`` ("length", "degree" or "percent").
    """
    slopes = slope_table(model, row, found)
    return motions_of(slopes[slopes["kind"] == "motion"], found[0].moves)


def motions_of(slopes: pd.DataFrame, moves: Sequence[Motion]) -> pd.DataFrame:
    """Return lines of a table of slopes with group, body and motion in place of one name."""
    by_name = {own.name: (own.group, own.body, own.kind, own.per) for own in moves}
    parts = pd.DataFrame([by_name[name] for name in slopes["what"]], columns=["group", "body", "motion", "per"])
    table = pd.concat([slopes.reset_index(drop=True), parts], axis=1)
    return table[["target", "group", "body", "motion", "derivative", "std", "lower95", "upper95", "per"]]


def _points(mesh: Mesh | Graph | None) -> Array:
    assert mesh is not None
    return mesh.points if isinstance(mesh, Mesh) else mesh.features


def _moved(mesh: Mesh | Graph | None, by: Array) -> Mesh | Graph:
    if isinstance(mesh, Mesh):
        return trusted_mesh(mesh.points + by, mesh.cells, mesh.fields, mesh.name, groups=mesh.groups)
    assert mesh is not None
    return mesh.with_features(mesh.features + by)
