"""Fitted fields: the model of one field, and rows of a table as the models of all fields see them.

:class:`FieldModel` has the scale, basis, modes and processes of one field; :class:`FieldCases` asks all of them about
new rows: for predictions, intervals, samples, numbers derived from fields, and whether the rows are like the training
cases. Where a model is less sure than of its training cases, all intervals are wider (:meth:`FieldModel.widening`),
here and nowhere else.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from typing import NamedTuple, Protocol, TypeVar

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtri

from swwl.domain.notes import listed_columns, mesh_notes, surprising_notes, with_causes
from swwl.domain.verdict import GROUPS, Reference, Representation, look, make_reference, number_columns, verdicts
from swwl.errors import InputError, MeshWarning
from swwl.fields.geometry.descriptors import Recipe
from swwl.fields.modes import FieldModes, SmoothBasis, chunks
from swwl.fields.numbers import (
    ForceOn,
    Line,
    LinearNumber,
    NumberErrors,
    cell_shares,
    check_name,
    derived_number,
    holding_cells,
    is_single,
    missing_notes,
    numbers_of,
)
from swwl.fields.sizes import CaseSizes, OneSize, stretch
from swwl.fields.values import FieldKind, Warp
from swwl.gp import RobustGP
from swwl.gp.blocks import Block
from swwl.gp.prediction import Prediction, check_samples, to_std
from swwl.mesh.arrays import AnyArray
from swwl.mesh.mesh import Mesh, trusted_mesh
from swwl.mesh.remesh.plane import flattened, thin_layer
from swwl.regression.intervals import LEVELS, WholeBand, widening
from swwl.regression.stack import Member
from swwl.storage.memory import fingerprint

Array = NDArray[np.float64]
Piece = tuple[slice, Array | None, NDArray[np.intp]]
Fields = list[dict[str, Array]]
Number = str | LinearNumber | Callable[[Mesh], ArrayLike]
Found = TypeVar("Found")

_USUAL = 0.95
# The basis at the nodes of larger meshes is not kept: it takes 2.4 kB per node.
_MOST_NODES = 20_000


@dataclass
class MeshNodes:
    """The nodes of one mesh as the basis of one field sees them.

    Attributes
    ----------
    n : int
    basis : SmoothBasis or None
        None for meshes that share their cells.
    descriptors : ndarray of shape (n, D) or None
    keep : bool
        Whether the basis at the nodes is computed once, for a mesh that is asked about again and again.
    copies : ndarray of shape (m,) or None
        Where these are the nodes of a plane mesh, and the mesh is one cell thick: which of them every node is.
    """

    n: int
    basis: SmoothBasis | None = None
    descriptors: Array | None = None
    keep: bool = False
    copies: NDArray[np.int32] | None = None
    _kept: list[Piece] | None = field(default=None, init=False, repr=False)

    def pieces(self) -> Iterator[Piece]:
        """Yield some nodes at a time: which, correlations with the basis or None, and places of their truncation."""
        if not self.keep or self.n > _MOST_NODES:
            yield from self._pieces()
            return
        if self._kept is None:
            self._kept = list(self._pieces())
        yield from self._kept

    def at_copies(self, values: Array) -> Array:
        """Return values (..., n, c) at all nodes of the mesh as it was given."""
        return values if self.copies is None else values[..., self.copies, :]

    def _pieces(self) -> Iterator[Piece]:
        for part in chunks(self.n):
            if self.basis is None or self.descriptors is None:
                yield part, None, np.arange(part.start, part.stop)
            else:
                own = self.descriptors[part]
                yield part, self.basis.correlations(own), self.basis.places(own)


@dataclass
class FieldModel:
    """All that predicts one field.

    Attributes
    ----------
    kind : FieldKind
    warp : Warp
    recipe : dict of str to float
        Weights of descriptors; empty for meshes that share their cells.
    basis : SmoothBasis or None
        None for meshes that share their cells.
    modes : FieldModes
    member : Member
        The kernel on meshes and numbers, and processes of the modes: one for each of the leading ones, the last for
        all others.
    truncation : ndarray of shape (M, c)
        Variance that modes leave, by nearest center or by node, on the standardized scale.
    widths : ndarray of shape (levels,)
        How many standard deviations, before calibration, held each of ``LEVELS`` of the errors in folds.
    numbers : dict of str to NumberErrors
        How far derived numbers of left-out meshes lay from those of samples, by name; empty without calibration.
    amplitude : bool
        Whether modes are those of shapes, which are multiplied by amplitudes.
    power : float
        How sharply fields are stretched to their largest size, see :func:`swwl.fields.sizes.stretch`; 0: not at all.
    held : dict of str to ndarray of shape (c,)
        Values that all training fields have on named groups; NaN where they vary.
    whole : WholeBand or None
        How wide bands of whole fields are; None without calibration.
    lost : ndarray of shape (c,) or None
        Of fields of cells, the root mean square of what training fields lost on the way to nodes and back.
    """

    kind: FieldKind
    warp: Warp
    recipe: Recipe
    basis: SmoothBasis | None
    modes: FieldModes
    member: Member
    truncation: Array
    widths: Array
    numbers: dict[str, NumberErrors] = field(default_factory=dict)
    amplitude: bool = False
    power: float = 0.0
    held: dict[str, Array] = field(default_factory=dict)
    whole: WholeBand | None = None
    lost: Array | None = None

    @property
    def factor(self) -> float:
        """By how much standard deviations are wider than those of modes and truncation."""
        return self.width(_USUAL) / float(ndtri(0.5 + _USUAL / 2))

    def width(self, level: float) -> float:
        """Return how many uncalibrated standard deviations the half of an interval has."""
        if not 0 < level < 1:
            raise InputError(f"level is {level!r}, but a number between 0 and 1 is expected.")
        if level <= LEVELS[-1]:
            return float(np.interp(level, np.append(0.0, LEVELS), np.append(0.0, self.widths)))
        return float(self.widths[-1] * ndtri(0.5 + level / 2) / ndtri(0.5 + LEVELS[-1] / 2))

    def sizes(self, cross: Sequence[Block], m: int) -> tuple[Array, Array]:
        """Return mean and standard deviation of the sizes of modes on m new meshes, (m, K) each."""
        return predict_sizes(self.member.gps, cross, m)

    @cached_property
    def reference(self) -> Reference | None:
        """What new cases are compared with: training meshes and numbers, and how sure left-out modes were.

        None for a constant field, which has no modes.
        """
        if not self.member.gps:
            return None
        std = np.hstack([gp.leave_one_out().columns().std for gp in self.member.gps])
        factors, rows = self.member.kernel.factors, self.member.rows
        return make_reference(factors, rows, _of_whole_field(std), std, pd.DataFrame(number_columns(factors, rows)))

    def widening(self, std: Array) -> Array:
        """Return how many times wider intervals are than the processes say, (m,): 2 where these are unsure, else 1.

        Parameters
        ----------
        std : ndarray of shape (m, K)
            Of the sizes of modes on m meshes.
        """
        if self.reference is None:
            return np.ones(len(std))
        return widening(_of_whole_field(std), self.reference)[:, 0]

    def at_nodes(self, nodes: MeshNodes, mean: Array, std: Array, unsure: float = 0.0) -> tuple[Array, Array]:
        """Return the standardized field and its uncalibrated standard deviation at all nodes of a mesh, (n, c) each.

        Alike on both sides of a mesh one cell thick.

        Parameters
        ----------
        nodes : MeshNodes
        mean, std : ndarray of shape (K,)
            Of the sizes of modes.
        unsure : float
            Deviation of the logarithm of the amplitude.
        """
        y, sd = np.empty((nodes.n, self.kind.components)), np.empty((nodes.n, self.kind.components))
        for part, phi, places in nodes.pieces():
            y[part], sd[part] = field_at(self._modes_at(part, phi), mean, std, self.truncation[places])
        sd = with_amplitude(self.warp, y, sd, unsure)
        return nodes.at_copies(y), nodes.at_copies(sd)

    def answer(self, case: Case) -> NodeAnswer:
        """Return what is said of the field at all nodes of a case."""
        nodes, mean, std, size, wide = case.field
        y, sd = self.at_nodes(nodes, mean, std, size.std)
        return NodeAnswer(self, y, wide * sd, self._times(y, size), self.held_at(case.mesh))

    def held_at(self, mesh: Mesh) -> Array:
        """Return the values that are known beforehand, on named groups, (n, c); NaN elsewhere."""
        found = np.full((mesh.n_nodes, self.kind.components), np.nan)
        for name, values in self.held.items():
            if name in mesh.groups:
                nodes = mesh.groups[name].nodes
                found[nodes] = np.where(np.isnan(values), found[nodes], values)
        return found

    @cached_property
    def _of_correlations(self) -> FieldModes:
        assert self.basis is not None
        return self.modes.of_correlations(self.basis)

    def _modes_at(self, part: slice, phi: Array | None) -> tuple[Array, Array]:
        if phi is not None:
            return self._of_correlations.at(phi)
        mean, shapes = self.modes.at(None)
        return mean[part], shapes[part]

    def draw(self, nodes: MeshNodes, mean: Array, std: Array, n_samples: int, rng: np.random.Generator) -> Array:
        """Draw whole standardized fields, (n_samples, n, c).

        FieldModes are independent. What they leave is drawn as a smooth function of the basis; for meshes that share
        their cells it is left out.
        """
        c, out = self.kind.components, np.empty((n_samples, nodes.n, self.kind.components))
        sizes = mean + self.factor * std * rng.standard_normal((n_samples, len(mean)))
        rough = None
        if self.basis is not None:
            rough = self.basis.of_correlations(rng.standard_normal((n_samples, c, self.modes.mean.shape[1])))
        for part, phi, places in nodes.pieces():
            base, shapes = self._modes_at(part, phi)
            out[:, part] = base + np.einsum("nck,sk->snc", shapes, sizes, optimize=True)
            if phi is not None and rough is not None:
                noise = np.einsum("nm,scm->snc", phi, rough, optimize=True)
                out[:, part] += self.factor * np.sqrt(self.truncation[places]) * noise
        return nodes.at_copies(out)

    def samples(self, case: OneField, held: Array, n_samples: int, rng: np.random.Generator) -> Array:
        """Draw whole fields in the units of the field, (n_samples, n, c), with what is held in them, (n, c)."""
        drawn = self.warp.inverse(self.draw(case.nodes, case.mean, case.std, n_samples, rng))
        if case.size.std > 0:
            grown = np.exp(self.factor * case.size.std * rng.standard_normal(n_samples))
            drawn = drawn * grown[:, None, None]
        y = self.at_nodes(case.nodes, case.mean, case.std)[0] if self.power else np.zeros((drawn.shape[1], 1))
        return np.where(np.isnan(held), self._times(y, case.size) * drawn, held)

    def _times(self, y: Array, size: OneSize) -> Array:
        return multiplier(self.warp, y, size, self.power, self.kind.times)

    def bounds(self, y: Array, half: Array) -> tuple[Array, Array]:
        """Return the bounds of intervals of so many standardized values to both sides, of the shape of ``y``."""
        ends = self.warp.inverse(y - half), self.warp.inverse(y + half)
        return ends[::-1] if self.warp.falls else ends

    def parts(self, case: Case, level: float, whole: bool = False) -> Array:
        """Return field, standard deviation and bounds at all nodes of a mesh, (4, n) or (4, n, c).

        With ``whole``, bounds of the whole field as well, (6, n) or (6, n, c).
        """
        found = self.answer(case)
        parts = [self.kind.shaped(case.mesh, found.mean()), self.std_of(case, found)]
        parts += self.interval_of(case, found, level)
        parts += self.interval_of(case, found, level, whole=True) if whole else ()
        return np.stack(parts)

    def std_of(self, case: Case, found: NodeAnswer) -> Array:
        """Return calibrated standard deviations in the shape of the field, (n,) or (n, c) of nodes or cells."""
        if self.lost is None:
            return self.kind.shaped(case.mesh, found.std())
        return self.factor * self._of_cells(case, found)

    def interval_of(self, case: Case, found: NodeAnswer, level: float, whole: bool = False) -> tuple[Array, Array]:
        """Return bounds in the shape of the field, of nodes or cells; see :meth:`NodeAnswer.interval`."""
        if self.lost is None:
            lower, upper = found.interval(level, whole)
            return self.kind.shaped(case.mesh, lower), self.kind.shaped(case.mesh, upper)
        mean = self.kind.shaped(case.mesh, found.mean())
        if whole and self.whole is not None:
            half = self.whole.half(self._of_cells(case, found), level)
            ends = mean - half, mean + half
        else:
            lower, upper = (self.kind.shaped(case.mesh, end) for end in found.interval(level))
            more = self.width(level) * self._lost()
            ends = mean - np.hypot(mean - lower, more), mean + np.hypot(upper - mean, more)
        limits = (self.warp.least, self.warp.most)
        return np.clip(ends[0], *limits), np.clip(ends[1], *limits)

    def _of_cells(self, case: Case, found: NodeAnswer) -> Array:
        """Return standard deviations of cells before calibration, with what is lost on the way from nodes."""
        return np.hypot(self.kind.shaped(case.mesh, found.deviations()), self._lost())

    def _lost(self) -> Array:
        assert self.lost is not None
        return self.lost[0] if self.kind.flat else self.lost

    def number(self, name: Number, drawn: Array, level: float, wide: Array) -> dict[str, Array]:
        """Return ``mean``, ``std``, ``lower`` and ``upper`` of a derived number, (m,) or (m, k) each.

        Parameters
        ----------
        name : str or callable
        drawn : ndarray of shape (m, S) or (m, S, k)
            The number of every sample, on m meshes; of values at places, these four themselves, (m, 4) or (m, 4, k).
        level : float
        wide : ndarray of shape (m,)
            How many times wider intervals are than samples say.
        """
        if isinstance(name, LinearNumber) and name.pointwise:
            return {key: drawn[:, j] for j, key in enumerate(("mean", "std", "lower", "upper"))}
        errors = self.numbers.get(name.learned(self.numbers) if isinstance(name, ForceOn) else str(name))
        if errors is not None and len(drawn) and errors.scores.shape[1] == drawn[0, 0].size:
            found = errors.interval(drawn.reshape(*drawn.shape[:2], -1), level)
            mean, std, *ends = [part[:, 0] if drawn.ndim == 2 else part for part in found]
        else:
            mean, std = drawn.mean(axis=1), drawn.std(axis=1, ddof=min(1, drawn.shape[1] - 1))
            ends = list(np.quantile(drawn, [0.5 - level / 2, 0.5 + level / 2], axis=1) if len(drawn) else [mean] * 2)
        wide = wide.reshape(-1, *[1] * (mean.ndim - 1))
        lower, upper = (np.where(wide > 1, mean + wide * (end - mean), end) for end in ends)
        mean, lower, upper = (np.clip(part, *self._limits_of(name)) for part in (mean, lower, upper))
        return {"mean": mean, "std": wide * std, "lower": lower, "upper": upper}

    def _limits_of(self, name: Number) -> tuple[float, float]:
        """Return what a derived number keeps for certain: what the field keeps, and that sizes are not negative."""
        if name in ("largest", "mean_size"):
            return 0.0, np.inf
        return (self.warp.least, self.warp.most) if name in ("max", "min", "mean") else (-np.inf, np.inf)


class OneField(NamedTuple):
    """One field on the nodes of a mesh: sizes (K,) of modes, how large it is, how many times wider intervals are."""

    nodes: MeshNodes
    mean: Array
    std: Array
    size: OneSize = OneSize()
    wide: float = 1.0


class Case(NamedTuple):
    """One field, and the mesh that it is predicted on."""

    mesh: Mesh
    field: OneField

    @property
    def nodes(self) -> MeshNodes:
        """The nodes of the mesh."""
        return self.field.nodes


@dataclass(frozen=True)
class NodeAnswer:
    """What a model says of a field at the n nodes of a mesh, in its units.

    Attributes
    ----------
    model : FieldModel
    y, sd : ndarray of shape (n, c)
        Standardized, before calibration.
    factor : ndarray of shape (n, 1) or (n, c)
        What values are multiplied by.
    held : ndarray of shape (n, c)
        What is known beforehand; NaN elsewhere.
    """

    model: FieldModel
    y: Array
    sd: Array
    factor: Array
    held: Array

    def mean(self) -> Array:
        """Return the field, (n, c)."""
        return self._with_held(self.factor * self.model.warp.inverse(self.y))

    def std(self) -> Array:
        """Return calibrated standard deviations, (n, c)."""
        return np.where(np.isnan(self.held), self.model.factor * self.deviations(), 0.0)

    def interval(self, level: float, whole: bool = False) -> tuple[Array, Array]:
        """Return bounds at every node by itself, or of a band of the whole field, (n, c) each."""
        if whole and self.model.whole is not None:
            half, mean = self.model.whole.half(self.deviations(), level), self.mean()
            limits = self.model.warp.least, self.model.warp.most
            lower, upper = np.clip(mean - half, *limits), np.clip(mean + half, *limits)
        else:
            ends = self.model.bounds(self.y, self.model.width(level) * self.sd)
            lower, upper = (self.factor * end for end in ends)
        return self._with_held(lower), self._with_held(upper)

    def deviations(self) -> Array:
        """Return standard deviations in units of the field, before calibration, (n, c)."""
        return np.asarray(self.factor * self.sd * self.model.warp.slope(self.y))

    def _with_held(self, values: Array) -> Array:
        return np.where(np.isnan(self.held), values, self.held)


def with_amplitude(warp: Warp, y: Array, sd: Array, unsure: float) -> Array:
    """Return deviations (n, c) of standardized values with that of the logarithm of an amplitude in them."""
    return np.sqrt(sd**2 + (unsure * warp.relative(y)) ** 2) if unsure > 0 else sd


def multiplier(warp: Warp, y: Array, size: OneSize, power: float, times: int = 1) -> Array:
    """Return what values of a standardized field (n, c) are multiplied by, (n, 1), or (n, c) at several times."""
    amplitude = np.exp(size.mean)
    if not power:
        return np.full((len(y), 1), amplitude)
    return np.asarray(amplitude * stretch(amplitude * warp.inverse(y), float(np.exp(size.largest)), power, times))


class RowMeshes(Protocol):
    """The meshes of M rows."""

    def each(self, function: Callable[[int, Mesh], Found]) -> list[Found]:
        """Call a function of number and mesh for every row; return the results in order."""

    def nodes(self, number: int, mesh: Mesh) -> Sequence[MeshNodes]:
        """Return the nodes of a row's mesh, as each of the models sees them."""


def _tags(fields: Mapping[str, AnyArray], taken: Collection[str]) -> dict[str, AnyArray]:
    """Return the fields of integers, which number parts; others are of a simulation, and not of the prediction."""
    return {name: field for name, field in fields.items() if field.dtype.kind in "iub" and name not in taken}


@dataclass(frozen=True)
class FieldCases:
    """M new rows, read, described and represented: all that is predicted of them is asked here.

    Attributes
    ----------
    models : list of FieldModel
    rows : list of list
        What the factors of every model's kernel make of the rows.
    sizes : list of (mean, std)
        Of the modes of every model, (M, K) each.
    table : DataFrame
        Their inputs.
    meshes : RowMeshes
    typical : mapping of str to object
        What is typical of the training meshes of a column, as far as it is known.
    case_sizes : mapping of str to CaseSizes
        How large the fields of the rows are as a whole, of those models that are told.
    groups : sequence of list of str
        What is said of the groups of every row that are elsewhere than in training meshes, beside what the kernels of
        the fields say; empty where nothing else knows groups.
    """

    models: list[FieldModel]
    rows: list[list[Representation]]
    sizes: list[tuple[Array, Array]]
    table: pd.DataFrame
    meshes: RowMeshes
    typical: Mapping[str, object] = field(default_factory=dict)
    case_sizes: Mapping[str, CaseSizes] = field(default_factory=dict)
    groups: Sequence[list[str]] = ()

    def __len__(self) -> int:
        return len(self.table)

    def predict(self, widen: bool = True) -> tuple[Fields, Fields]:
        """Return fields and their standard deviations; see :meth:`swwl.FieldRegressor.predict`."""

        def answer(model: FieldModel, case: Case) -> tuple[Array, Array]:
            found = model.answer(case)
            return model.kind.shaped(case.mesh, found.mean()), model.std_of(case, found)

        return _apart(self._ask(answer, widen))

    def predict_interval(
        self, level: float = 0.95, widen: bool = True, *, simultaneous: bool = False
    ) -> tuple[Fields, Fields]:
        """Return the bounds (lower, upper) of intervals at every node, or of bands of whole fields."""
        self._check_bands(simultaneous)

        def answer(model: FieldModel, case: Case) -> tuple[Array, Array]:
            return model.interval_of(case, model.answer(case), level, simultaneous)

        return _apart(self._ask(answer, widen))

    def _check_bands(self, simultaneous: bool) -> None:
        missing = [model.kind.name for model in self.models if model.whole is None and model.modes.number]
        if simultaneous and missing:
            raise InputError(
                f"Bands of whole fields need folds, and there were none for {', '.join(missing)}: fit with "
                "calibrate=True, to at least ten meshes."
            )

    def predict_meshes(self, level: float = 0.95, widen: bool = True, *, simultaneous: bool = False) -> list[Mesh]:
        """Return the meshes with predictions; see :meth:`swwl.FieldRegressor.predict_meshes`."""
        self._check_bands(simultaneous)
        ending = f"{100 * level:g}"
        endings = ["", "_std", f"_lower{ending}", f"_upper{ending}"]
        endings += [f"_lower{ending}_whole", f"_upper{ending}_whole"] if simultaneous else []

        def answer(model: FieldModel, case: Case) -> tuple[Mesh, bool, dict[str, Array]]:
            parts = model.parts(case, level, simultaneous)
            fields = {model.kind.name + end: part for end, part in zip(endings, parts, strict=True)}
            return case.mesh, model.kind.on_cells, fields

        meshes = []
        for row in self._ask(answer, widen):
            mesh = next(iter(row.values()))[0]
            of_nodes = {name: values for _, cells, own in row.values() if not cells for name, values in own.items()}
            of_cells = {name: values for _, cells, own in row.values() if cells for name, values in own.items()}
            tags, cell_tags = (_tags(home, {*of_nodes, *of_cells}) for home in (mesh.fields, mesh.cell_fields))
            meshes.append(Mesh(mesh.points, mesh.cells, tags | of_nodes, mesh.name, cell_fields=cell_tags | of_cells,
                               groups=mesh.groups))  # fmt: skip
        return meshes

    def sample(self, n_samples: int = 1, random_state: int | None = None) -> Fields:
        """Draw whole fields of the processes as they are; see :meth:`swwl.FieldRegressor.sample`."""
        draw = _drawer(n_samples, random_state)
        return self._ask(lambda model, case: model.kind.shaped(case.mesh, draw(model, case)), widen=False)

    def modes(self, n_modes: int = 4) -> Fields:
        """Return what the leading modes do to the mean field, in the units of the field.

        Returns
        -------
        list of dict of str to ndarray of shape (K, n) or (K, n, c)
            One dict per row, K at most ``n_modes``. Mode k is how much the field differs from the mean field where the
            size of the mode is one standard deviation over the training meshes above its mean.
        """

        def answer(model: FieldModel, case: Case) -> Array:
            zero, amplitude = np.zeros(model.modes.number), np.exp(case.field.size.mean)
            base = amplitude * model.warp.inverse(model.at_nodes(case.nodes, zero, zero)[0])
            shapes = np.empty((min(n_modes, model.modes.number), *base.shape))
            for k in range(len(shapes)):
                size = zero.copy()
                size[k] = np.sqrt(model.modes.variances[k])
                shapes[k] = amplitude * model.warp.inverse(model.at_nodes(case.nodes, size, zero)[0]) - base
            return model.kind.shaped(case.mesh, shapes)

        return self._ask(answer, widen=False)

    def derived(
        self,
        function: Number | Sequence[Number],
        level: float = 0.95,
        n_samples: int = 200,
        *,
        field: str | None = None,
        random_state: int = 0,
        widen: bool = True,
    ) -> pd.DataFrame:
        """Return numbers derived from a field; see :meth:`swwl.FieldRegressor.derived`."""
        found, lacks = self.numbers(function, level, n_samples, field=field, random_state=random_state, widen=widen)
        named = {words: {f"row {row}": why for row, why in own.items()} for words, own in lacks.items()}
        for note in missing_notes(named, len(self)):
            warnings.warn(note, MeshWarning, stacklevel=3)
        return found

    def numbers(
        self,
        function: Number | Sequence[Number],
        level: float = 0.95,
        n_samples: int = 200,
        *,
        field: str | None = None,
        random_state: int = 0,
        widen: bool = True,
    ) -> tuple[pd.DataFrame, dict[str, dict[int, str]]]:
        """Return numbers derived from a field and, by the words of a number, which rows have none, and why.

        Those are NaN; a number that no row has is left out.
        """
        if not 0 < level < 1:
            raise InputError(f"level is {level!r}, but a number between 0 and 1 is expected.")
        place = self._place(field)
        model, std = self.models[place], self.sizes[place][1]
        name, listed = model.kind.name, not (isinstance(function, (str, LinearNumber)) or callable(function))
        numbers: list[Number] = list(function) if listed else [function]  # type: ignore[arg-type,list-item]
        draw = _drawer(n_samples, random_state)

        def answer(one: FieldModel, case: Case) -> list[Array | InputError]:
            if one is not model:
                return []
            samples, parts = cache(lambda: draw(one, case)), cache(lambda: one.parts(case, level))
            return [_number_of(one, case, number, samples, parts) for number in numbers]

        rows = [row[name] for row in self._ask(answer, widen)]
        wide = model.widening(std) if widen else np.ones(len(std))
        columns: dict[str, Array] = {}
        lacks: dict[str, dict[int, str]] = {}
        for k, number in enumerate(numbers):
            found, why = _stacked([row[k] for row in rows], (n_samples,))
            lacks |= {number.words: why} if isinstance(number, LinearNumber) else {}
            if len(why) == len(rows) > 0:
                continue
            own = self._largest(model, number, level, wide)
            for key, part in (own or model.number(number, found, level, wide)).items():
                key = f"{number}_{key}" if listed else key
                columns |= {key: part} if part.ndim == 1 else {f"{key}_{j}": one for j, one in enumerate(part.T)}
        return pd.DataFrame(columns), lacks

    def along_line(
        self, line: Line, level: float = 0.95, *, field: str | None = None, widen: bool = True
    ) -> pd.DataFrame:
        """Return a field along a line through every mesh; see :meth:`swwl.FieldRegressor.along_line`."""
        found = self.derived(line, level, field=field, widen=widen)
        n, c = int(line.n), self.models[self._place(field)].kind.components
        table = pd.DataFrame({"row": np.repeat(np.arange(len(self)), n)})
        places = np.tile(line.points, (len(self), 1))
        table["distance"] = np.linalg.norm(places - line.start, axis=1)
        for name, column in zip("xyz", places.T, strict=False):
            table[name] = column
        for key in ("mean", "std", "lower", "upper"):
            part = found.reindex(columns=[f"{key}_{j}" for j in range(n * c)]).to_numpy().reshape(-1, c)
            table = table.assign(**({key: part[:, 0]} if c == 1 else {f"{key}_{j}": p for j, p in enumerate(part.T)}))
        return table

    def _largest(self, model: FieldModel, number: Number, level: float, wide: Array) -> dict[str, Array] | None:
        """Return the largest size of fields that are stretched to it; None for other numbers and fields."""
        positive = model.warp.least >= 0 and (model.kind.components == 1 or model.kind.single)
        if not model.power or not (number == "largest" or (number == "max" and positive)):
            return None
        sizes = self._case_sizes[model.kind.name]
        mean, half = np.exp(sizes.largest), float(ndtri(0.5 + level / 2)) * wide * sizes.largest_std
        ends = {"lower": mean * np.exp(-half), "upper": mean * np.exp(half)}
        return {"mean": mean, "std": mean * wide * sizes.largest_std, **ends}

    @cached_property
    def domain(self) -> pd.DataFrame:
        """Whether the rows are like the training cases; see :meth:`swwl.FieldRegressor.domain`."""
        if not len(self):
            raise InputError("There are no rows to compare with the training cases.")
        found, groups = [], list(self.groups) or [[] for _ in range(len(self))]
        for model, own, (_, std) in zip(self.models, self.rows, self.sizes, strict=True):
            if model.reference is not None:
                factors = model.member.kernel.factors
                looks = look(model.reference, factors, own, len(self)).with_groups(groups)
                found.append(pd.DataFrame(verdicts(model.reference, looks, std, number_columns(factors, own))))
        if found:  # of several fields that which puts a case outside, if one does
            ranks = [np.where(part["inside"].fillna(True), 1.0, 0.0) for part in found]
            scores = [part["score"] + rank for part, rank in zip(found, ranks, strict=True)]
            worst = np.argmin(scores, axis=0)
            table = pd.concat(found, ignore_index=True).iloc[worst * len(self) + np.arange(len(self))]
            table = table.set_axis(self.table.index)
        else:
            unknown = {"score": np.nan, "inside": pd.NA, "kind": "cannot tell", "why": "all fields are constant"}
            unknown |= {"outside": "", "far": False, "tail": 1.0}
            table = pd.DataFrame(unknown, self.table.index).astype({"inside": "boolean"})
            elsewhere = [bool(said) for said in groups]
            table.loc[elsewhere, "inside"], table.loc[elsewhere, "kind"] = False, GROUPS
            table["why"] = ["; ".join(said) or why for said, why in zip(groups, table["why"], strict=True)]
        pairs = zip(self.models, self.sizes, strict=True)
        wide = {model.kind.name: model.widening(std) > 1 for model, (_, std) in pairs}
        n_train = max((one.reference.n_cases for one in self.models if one.reference is not None), default=0)
        named = with_causes(listed_columns(table), n_train, listed_columns(self.table), self.typical)
        told = {key: named[key] for key in ("kind", "why", "far")}
        table = table.assign(**told, inside=pd.Series(named["inside"], table.index, table["inside"].dtype))
        return table.assign(widened=[", ".join(n for n, w in wide.items() if w[row]) for row in range(len(self))])

    def notes(self) -> list[str]:
        """Say in a line each what is odd about the rows; nothing where all is as training cases would have it."""
        known = [one.reference for one in self.models if one.reference is not None]
        if not known:
            return []
        n_train = known[0].n_cases
        n_inputs = len({name for one in known for name in one.bounds})
        lines = surprising_notes(self.domain, n_train, n_inputs)
        return lines + mesh_notes(self.domain, n_train, self.table, self.typical)

    @cached_property
    def _case_sizes(self) -> dict[str, CaseSizes]:
        """How large the fields of the rows are, as far as their models use it."""
        found = {}
        for model in self.models:
            own = self.case_sizes.get(model.kind.name, CaseSizes.none(len(self)))
            zero = np.zeros(len(self))
            found[model.kind.name] = own if model.amplitude else own._replace(mean=zero, std=zero)
        return found

    def _place(self, field: str | None) -> int:
        names = [model.kind.name for model in self.models]
        if field is None and len(names) == 1:
            return 0
        if field not in names:
            raise InputError(f"field is {field!r}, but one of {', '.join(names)} is expected.")
        return names.index(field)

    def _ask(self, answer: Callable[[FieldModel, Case], Found], widen: bool) -> list[dict[str, Found]]:
        """Return what an answer says of every field, by name, for every row."""
        wide = [model.widening(std) if widen else np.ones(len(std))
                for model, (_, std) in zip(self.models, self.sizes, strict=True)]  # fmt: skip

        def one(number: int, mesh: Mesh) -> dict[str, Found]:
            found, nodes = {}, self.meshes.nodes(number, mesh)
            for model, own, (mean, std), factor in zip(self.models, nodes, self.sizes, wide, strict=True):
                size = self._case_sizes[model.kind.name].row(number)
                case = Case(mesh, OneField(own, mean[number], std[number], size, float(factor[number])))
                found[model.kind.name] = answer(model, case)
            return found

        return self.meshes.each(one)


def _apart(rows: list[dict[str, tuple[Array, Array]]]) -> tuple[Fields, Fields]:
    """Return two lists of fields of one list of pairs."""
    first, second = ([{name: pair[k] for name, pair in row.items()} for row in rows] for k in (0, 1))
    return first, second


def _stacked(found: Sequence[Array | InputError], shape: tuple[int, ...]) -> tuple[Array, dict[int, str]]:
    """Return what was found of m rows as one array (m, ...), NaN where there is nothing, and why there is nothing.

    Without any rows it has the given shape.
    """
    why = {row: str(one) for row, one in enumerate(found) if isinstance(one, InputError)}
    shape = next((one.shape for one in found if not isinstance(one, InputError)), shape)
    parts = [np.full(shape, np.nan) if isinstance(one, InputError) else one for one in found]
    return np.reshape(parts, (len(found), *shape)), why


def _asked(case: Case, number: Number, name: str, drawn: Array) -> tuple[Mesh, str, Array]:
    """Return the mesh and the samples that a number is derived from: numbers of a layer with a name, in the plane."""
    if case.nodes.copies is None or callable(number):
        return case.mesh, name, drawn
    return flattened(case.mesh), name, drawn[:, np.unique(case.nodes.copies, return_index=True)[1]]


def _drawer(n_samples: int, random_state: int | None) -> Callable[[FieldModel, Case], Array]:
    """Return what draws fields of a model at the nodes of a mesh, (n_samples, n, c)."""
    check_samples(n_samples, 1)
    entropy = int(np.random.default_rng(np.random.SeedSequence(random_state)).integers(2**62))

    def draw(model: FieldModel, case: Case) -> Array:
        # Seeded by the mesh and not by its place: a row draws the same in any table, in any number of threads.
        rng = np.random.default_rng([entropy, int(fingerprint(model.kind.name, case.mesh.points), 16)])
        return model.samples(case.field, model.held_at(case.mesh), int(n_samples), rng)

    return draw


def _number_of(
    model: FieldModel, case: Case, number: Number, samples: Callable[[], Array], parts: Callable[[], Array]
) -> Array | InputError:
    """Return a number of samples at nodes, or of :meth:`FieldModel.parts` where it is one at places."""
    kind = model.kind
    if not isinstance(number, LinearNumber):
        if kind.on_cells and number != "force":
            return _of_cells(case, number, kind, kind.shaped(case.mesh, samples()))
        return derived_number(number, *_asked(case, number, kind.name, kind.flattened(samples())), kind.times)
    try:
        known = number.for_field(kind.name, kind.components) if isinstance(number, ForceOn) else number
        weights = known.weights(case.mesh, kind.components, case.nodes.copies is not None)
    except InputError as error:
        return error
    if kind.on_cells and number.pointwise:
        weights = holding_cells(case.mesh, weights)
    values = weights.of(parts() if number.pointwise else samples())
    return values[:, 0] if values.shape[1] == 1 else values


def _of_cells(case: Case, number: Number, kind: FieldKind, drawn: Array) -> Array:
    """Return a number with a name, or a function, of samples of a field of cells, (S, m) or (S, m, c)."""
    mesh, layer = case.mesh, thin_layer(case.mesh) if case.nodes.copies is not None else None
    if callable(number):
        given = (mesh.points, mesh.cells, mesh.fields, mesh.name)
        meshes = (trusted_mesh(*given, {**mesh.cell_fields, kind.name: one}, mesh.groups) for one in drawn)
        return np.array([np.asarray(number(one), dtype=float) for one in meshes])
    check_name(number)
    if layer is not None:
        mesh, drawn = flattened(mesh), drawn[:, layer.rows]
    found = numbers_of(str(number), drawn if drawn.ndim == 3 else drawn[:, :, None], cell_shares(mesh), kind.times)
    return found[:, 0] if is_single(str(number), drawn, kind.times) else found


def _of_whole_field(std: Array) -> Prediction:
    """Return how unsure fields are, (m, 1): modes are orthogonal, so that variances of their sizes add up."""
    whole = np.sqrt((std**2).sum(axis=1, keepdims=True))
    return Prediction(np.zeros_like(whole), whole, np.inf)


def predict_sizes(gps: Sequence[RobustGP], cross: Sequence[Block], m: int) -> tuple[Array, Array]:
    """Return mean and standard deviation of the sizes of modes, (m, K) each, from the processes of all groups."""
    found = [gp.predict_distribution(cross).columns() for gp in gps]
    if not found:
        return np.empty((m, 0)), np.empty((m, 0))
    std = [part.scale * (to_std(np.ones(1), part.df)[0] if part.df > 2 else 1.0) for part in found]
    return np.hstack([part.mean for part in found]), np.hstack(std)


def field_at(modes: tuple[Array, Array], mean: Array, std: Array, truncation: Array) -> tuple[Array, Array]:
    """Return a field and its standard deviation at nodes, (n, c) each, of independent modes.

    Parameters
    ----------
    modes : tuple of ndarray of shape (n, c) and (n, c, K)
    mean, std : ndarray of shape (K,)
    truncation : ndarray of shape (n, c)
        Variances.
    """
    base, shapes = modes
    return base + shapes @ mean, np.sqrt(shapes**2 @ std**2 + truncation)
