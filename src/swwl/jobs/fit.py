"""From a table to fitted models, of columns and of whole fields, that know their data and their scores: ``swwl fit``.

:class:`FitJob` does what the command asks for, step by step; :func:`fit_plan` and :func:`fit_fields` fit one model.
"""

from __future__ import annotations

import difflib
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from swwl.embedding.stores.sampled import counting, sample_rows
from swwl.embedding.stores.store import Store
from swwl.errors import InputError
from swwl.evaluation.metadata import HELD_OUT, plain_score
from swwl.fields.estimator import FieldRegressor
from swwl.fields.scores import MeshScore
from swwl.fields.transient import TransientRegressor
from swwl.formatting import Record, plain
from swwl.gp.carried import CarriedPrediction
from swwl.jobs.check import Finding, check_plan
from swwl.jobs.describe import curve_model_facts, field_model_facts, model_facts
from swwl.jobs.embed import Embedded, embed, find_work
from swwl.jobs.outputs import check_output, is_model
from swwl.jobs.plan import FitPlan, HoldOut, KernelOptions, RowSplit, Whole, make_kernel, plan_fit
from swwl.jobs.predict import HANDFUL, score_mesh, truths
from swwl.jobs.series import Compared, compare_curves, score_curves
from swwl.jobs.table import CACHE_FOLDER, memory_beside, summary
from swwl.kernels import Product
from swwl.kernels.shared import keeping_factors
from swwl.kernels.stored import recipe
from swwl.mesh.io import read_mesh
from swwl.mesh.mesh import Mesh
from swwl.mesh.shape.screening import Typical
from swwl.parallel import Progress
from swwl.regression.curves.estimator import CurveRegressor
from swwl.regression.estimator import RobustGPRegressor
from swwl.regression.fit_many_rows import choose_solver
from swwl.storage.memory import Memory, fingerprint
from swwl.tables.laws import read_laws
from swwl.tables.places import case_names, places, rows_named, where
from swwl.tables.series import Curves, table_curves

Kernel = Product | dict[str, Product]

# So many held-out curves are kept for the report.
_SHOWN = 6


def no_progress(label: str) -> Progress | None:
    """Show nothing."""
    return None


@dataclass(frozen=True)
class FitOptions:
    """How a model is fitted.

    Attributes
    ----------
    memory : Memory
        Where embeddings are kept; it also tells afterwards how large meshes are and how many were found in it.
    typical : mapping of str to Typical
        What the meshes of a column have in common, for ``swwl predict`` to compare others with.
    calibrate : bool
    seed : int
    n_jobs : int or None
    solver : {"auto", "exact", "vecchia"}
        Of columns.
    embeddings : path or None
        For columns: a store of what is kept of the meshes, see :mod:`swwl.jobs.embed`.
    target_scale : str, dict of str to str, or None
        Of columns, see :class:`swwl.RobustGPRegressor`.
    outliers : {"auto", "keep"}
        Of columns: whether rows that the others do not explain hardly count, or count in full.
    regimes : {"auto", "one"} or None
        Of columns: whether to look for two branches, see :class:`swwl.RobustGPRegressor`.
    scaled : sequence of str
        Laws of what is learned, ``TARGET ~ FORMULA``, see :class:`swwl.RobustGPRegressor`.
    together : {"auto", True, False}
        Of columns: whether those of which more is known help others, see :class:`swwl.RobustGPRegressor`.
    n_modes : int or None
        Of fields.
    progress : callable
        Called with a label, returns what shows progress, or None.
    """

    memory: Memory = field(default_factory=lambda: Memory(None))
    typical: Mapping[str, Typical] = field(default_factory=dict)
    calibrate: bool = True
    seed: int = 0
    n_jobs: int | None = None
    solver: str = "auto"
    embeddings: Path | None = None
    target_scale: str | dict[str, str] | None = None
    outliers: str = "auto"
    regimes: str | None = None
    scaled: Sequence[str] = ()
    together: bool | str = "auto"
    n_modes: int | None = None
    progress: Callable[[str], Progress | None] = no_progress


def fit_plan(
    plan: FitPlan, kernel: Kernel | None, model_path: Path, options: FitOptions | None = None
) -> RobustGPRegressor:
    """Fit a model of columns, predict the held-out rows, and put into its metadata what a report needs.

    Parameters
    ----------
    plan : FitPlan
    kernel : Product, or dict of those to stack; None for the regressor's own
    model_path : path
        Where the model will be saved: it refers to the table relative to that.
    options : FitOptions, optional
    """
    how = options or FitOptions()
    table = plan.table()
    targets = plan.targets[0] if len(plan.targets) == 1 else plan.targets
    model = RobustGPRegressor(
        kernel,
        calibrate=how.calibrate,
        random_state=how.seed,
        solver=how.solver,
        n_jobs=how.n_jobs,
        target_scale=how.target_scale,
        outliers=how.outliers,
        regimes=how.regimes,
        scaled=list(how.scaled) or None,
        targets_together=how.together,
    )
    levels = None if plan.fidelity is None else {plan.fidelity.column: plan.fidelity.names}
    train, test = plan.split.train, plan.split.test
    with rows_named(plan.frame, plan.path, train):
        model.fit(
            table.iloc[train],
            targets,
            memory=how.memory,
            embeddings=how.embeddings,
            progress=how.progress("meshes"),
            gp_progress=how.progress("Gaussian processes"),
            fidelity=levels,
        )
    held_out = None
    if len(test):
        label = how.progress("held-out meshes" if plan.meshes else "rows")
        kept = how.memory if how.embeddings is None else counting(how.memory)  # so many wide rows are not worth keeping
        with rows_named(plan.frame, plan.path, test):
            held_out = model.predict_with_domain(table.iloc[test], memory=kept, progress=label)[0].columns()
    data = about_data(plan, model_path, table, how)
    plain_models = model.spreadsheet()
    data["spreadsheet"] = [] if plain_models is None else plain_models.to_dict("records")
    shares = model.variance_shares()
    data["variance_shares"] = [] if shares is None else shares.to_dict("records")
    if held_out is not None:
        data["held_out"] |= {
            "targets": plan.frame[plan.targets].iloc[test].to_numpy(),
            "mean": held_out.mean,
            "std": held_out.std,
            "df": held_out.df,
        }
        if held_out.process is not held_out:
            data["held_out"] |= {"process_mean": held_out.process.mean, "process_std": held_out.process.std}
        if isinstance(held_out, CarriedPrediction) and held_out.times is not None:
            data["held_out"]["times"] = held_out.times
    known: Record = plain(data)
    model.metadata_ = known
    return model


def mesh_facts(plan: FitPlan, memory: Memory) -> Record:
    """Return how many different meshes a plan has, the sizes of those that were read, and how many memory had."""
    files = {file for name in plan.meshes for file in plan.mesh_files(name) if file is not None}
    nodes = [memory.n_nodes[file] for file in files if file in memory.n_nodes]
    return {
        "meshes": len(files),
        "meshes_from_cache": len(files & memory.found),
        "nodes": summary(nodes) if nodes else None,
        "nodes_known_of": len(nodes),  # those of a table of embeddings are not read
    }


def about_data(plan: FitPlan, model_path: Path, table: pd.DataFrame, how: FitOptions) -> Record:
    """Return which table a model was fitted to, and which of its rows and meshes were fitted and held out."""

    def about(rows: NDArray[np.intp]) -> Record:
        first = table[plan.meshes[0]].iloc[rows] if plan.meshes else []
        return {
            "rows": rows,
            "meshes": {name: plan.frame[name].iloc[rows].tolist() for name in plan.meshes},
            "nodes": [how.memory.n_nodes.get(file) for file in first],
        }

    test = plan.split.test
    inputs = {name: plan.frame[name].iloc[test].tolist() for name in plan.inputs}
    return {
        # Relative, so that model and data can be moved together.
        "table": Path(os.path.relpath(plan.path.resolve(), model_path.resolve().parent)).as_posix(),
        "n_rows": len(plan.frame),
        "split": plan.split.words,
        "ignored": plan.ignored,
        "train": about(plan.answered),
        "held_out": about(test) | {"inputs": inputs} if len(test) else None,
        "time": plan.time,
        "typical": {name: found.plain() for name, found in how.typical.items()},
    }


def check_fields(plan: FitPlan, names: Sequence[str]) -> None:
    """Refuse fields that the first mesh to fit does not have, and tables with several mesh columns."""
    if len(plan.meshes) != 1:
        found = ", ".join(plan.meshes) or "none"
        raise InputError(
            f"{plan.path}: fields are learned from one column of meshes, found {found}; name it with --mesh."
        )
    row = int(plan.split.train[0])
    mesh = read_mesh(plan.mesh_files(plan.meshes[0]).iloc[row])
    known = [*mesh.fields, *mesh.cell_fields]
    for name in names:
        if name not in known:
            near = difflib.get_close_matches(name, known, n=1, cutoff=0.5)
            hint = f" Did you mean {near[0]!r}?" if near else ""
            place = where(plan.frame, plan.path, row)
            raise InputError(
                f"{plan.path}: {place}: {mesh.name} has no field {name!r}; it has: {', '.join(known) or 'none'}.{hint}"
            )


def fit_fields(
    plan: FitPlan,
    names: Sequence[str],
    model_path: Path,
    kernel: Kernel | None = None,
    options: FitOptions | None = None,
) -> FieldRegressor:
    """Fit a model of fields, predict the held-out meshes, and put into its metadata what a report needs.

    Parameters are those of :func:`fit_plan`, and the names of the fields.
    """
    how = options or FitOptions()
    model = FieldRegressor(
        kernel,
        n_modes=how.n_modes,
        calibrate=how.calibrate,
        random_state=how.seed,
        n_jobs=how.n_jobs,
        scaled=list(how.scaled) or None,
    )
    test = plan.split.test

    def scored(table: pd.DataFrame) -> Iterator[dict[str, MeshScore | None]]:
        called = case_names(plan.frame[plan.meshes[0]].iloc[plan.split.rows].tolist())
        known = dict(zip(plan.split.rows, called, strict=True))
        for row, mesh in zip(test, predicted(model, plan, table, test, how.memory), strict=True):
            truth = truths(table[plan.meshes[0]].iloc[row], model.field_names_)
            yield {name: score_mesh(mesh.renamed(known[row]), name, true) for name, true in truth.items()}

    data = fit_to_meshes(model, plan, names, model_path, how, scored)
    if data["held_out"] is not None:
        chosen = plan.frame.iloc[test][plan.categories]
        data["held_out"]["inputs"] |= {name: chosen[name].astype(str).tolist() for name in plan.categories}
    known: Record = plain(data)
    model.metadata_ = known
    return model


def fit_to_meshes(
    model: FieldRegressor | TransientRegressor,
    plan: FitPlan,
    names: Sequence[str],
    model_path: Path,
    how: FitOptions,
    scored: Callable[[pd.DataFrame], Iterable[Mapping[str, MeshScore | None]]],
    what: str = "held-out meshes",
) -> Record:
    """Fit a model of fields, or of fields over time, and return what its metadata say of table, rows and scores.

    Parameters
    ----------
    model : FieldRegressor or TransientRegressor
    plan : FitPlan
    names : sequence of str
        Of the fields.
    model_path : Path
    how : FitOptions
    scored : callable
        Takes the table, and yields the scores of every held-out row, by field; None where nothing can be compared.
    what : str
        What progress calls these rows.
    """
    table = plan.table().drop(columns=plan.targets)
    train, test = plan.split.train, plan.split.test
    with rows_named(plan.frame, plan.path, train):
        model.fit(
            table.iloc[train],
            list(names),
            memory=how.memory,
            progress=how.progress("meshes"),
            gp_progress=how.progress("Gaussian processes"),
        )
    scores: dict[str, list[Record]] = {name: [] for name in model.field_names_}
    show = how.progress(what) if len(test) else None
    for case, found in enumerate(scored(table)):
        for name, score in found.items():
            if score is not None:
                scores[name].append(plain_score(score, case))
        if show is not None:
            show(case + 1, len(test))
    data = about_data(plan, model_path, table, how)
    inputs = table.iloc[train][plan.inputs]
    data["ranges"] = {name: [float(inputs[name].min()), float(inputs[name].max())] for name in plan.inputs}
    data["held_out_scores"] = scores
    return data


def fit_curves(
    plan: FitPlan, curve: str, model_path: Path, kernel: Kernel | None = None, options: FitOptions | None = None
) -> CurveRegressor:
    """Fit a model of curves, predict the held-out ones, and put into its metadata what a report needs.

    Parameters are those of :func:`swwl.jobs.fit.fit_plan`, and the name of the curve.
    """
    how = options or FitOptions()
    table = plan.table()
    regressor = RobustGPRegressor(
        kernel, calibrate=how.calibrate, random_state=how.seed, solver=how.solver, n_jobs=how.n_jobs
    )
    model = CurveRegressor(regressor, random_state=how.seed, n_jobs=how.n_jobs)
    train, test = plan.split.train, plan.split.test
    with rows_named(plan.frame, plan.path, train):
        model.fit(
            table.iloc[train],
            curve,
            memory=how.memory,
            progress=how.progress("meshes"),
            gp_progress=how.progress("Gaussian processes"),
        )
    data = about_data(plan, model_path, table, how)
    if len(test):
        with rows_named(plan.frame, plan.path, test):
            truth = table_curves(table.iloc[test], curve)
            label = how.progress("held-out meshes" if plan.meshes else "rows")
            cases = model.cases(table.iloc[test], memory=how.memory, progress=label)
        places = zip(truth.places, truth.values, strict=True)
        compared = compare_curves(cases, [Curves(curve, truth.form, [at], [own]) for at, own in places])
        data["curve_scores"] = score_curves(model, compared, np.zeros(len(test), bool), HELD_OUT)
        data["shown"] = _shown(compared, test)
    known: Record = plain(data)
    model.metadata_ = known
    return model


def _shown(compared: Sequence[Compared | None], test: NDArray[np.intp]) -> list[Record]:
    """Return some held-out curves for the report, from the best to the worst predicted."""
    known = [(int(row), one) for row, one in zip(test, compared, strict=True) if one is not None]
    known.sort(key=lambda pair: float(((pair[1].mean - pair[1].truth) ** 2).mean()))
    chosen = np.unique(np.linspace(0, max(0, len(known) - 1), _SHOWN).round().astype(int))[: len(known)]
    return [
        {"row": row, "places": one.places, "truth": one.truth, "mean": one.mean}
        | {"lower": one.whole_lower, "upper": one.whole_upper}
        for row, one in (known[k] for k in chosen)
    ]


def predicted(
    model: FieldRegressor, plan: FitPlan, table: pd.DataFrame, rows: NDArray[np.intp], memory: Memory
) -> Iterator[Mesh]:
    """Yield the predicted meshes of rows of a plan, a handful in memory at a time."""
    for first in range(0, len(rows), HANDFUL):
        some = rows[first : first + HANDFUL]
        with rows_named(plan.frame, plan.path, some):
            yield from model.cases(table.iloc[some], memory=memory).predict_meshes()


def store_beside(
    plan: FitPlan,
    kernel: Kernel,
    *,
    seed: int = 0,
    n_jobs: int = 1,
    skip_bad: bool = False,
    progress: Progress | None = None,
) -> tuple[Path, Embedded]:
    """Embed the meshes of a plan into a store beside its table, or go on with that; return its folder.

    Parameters
    ----------
    plan : FitPlan
    kernel : Product, or dict of those to stack
    seed, n_jobs, skip_bad, progress
        See :func:`swwl.jobs.embed.embed`.
    """
    kernels = [kernel] if isinstance(kernel, Product) else list(kernel.values())
    kept = keeping_factors(kernels)
    names = [name for name in plan.meshes if name in kept]
    key = fingerprint([[name, [recipe(factor) for factor in kept[name]]] for name in names], seed)
    folder = plan.path.parent / CACHE_FOLDER / f"store-{key[:12]}"
    work = find_work(plan.path, plan.frame, names, plan.split.rows, plan.split.train, kernels, skip_bad)
    return folder, embed(work, folder, seed=seed, skip_bad=skip_bad, n_jobs=n_jobs, progress=progress)


def without_bad(plan: FitPlan, store: Store, drop: bool) -> FitPlan:
    """Return a plan without the rows whose meshes could not be embedded; refuse them unless they may be dropped."""
    bad = np.zeros(len(plan.frame), dtype=bool)
    if store.bad:
        for name in plan.meshes:
            files = plan.mesh_files(name)
            for row in map(int, plan.split.rows):
                bad[row] |= store.is_bad(files.iloc[row])
    which = np.flatnonzero(bad)
    if not len(which):
        return plan
    said = f"{len(which)} whose meshes could not be embedded ({places(plan.frame, plan.path, which)})"
    if not drop:
        reason = next(iter(store.bad.values()))
        raise InputError(f"{plan.path}: there are {said}: {reason} --drop-incomplete leaves such rows out.")
    return replace(plan, split=plan.split.without(bad, f"{said} left out"))


def some_rows(plan: FitPlan, seed: int) -> FitPlan:
    """Return a plan of a few training rows: those whose meshes are checked where there are very many."""
    train = plan.split.train[sample_rows(len(plan.split.train), seed)]
    few = RowSplit(train, np.empty(0, np.intp), plan.split.words, plan.split.column)
    return replace(plan, split=few)


@dataclass(frozen=True)
class FitRequest:
    """What ``swwl fit`` is asked for.

    Attributes
    ----------
    table, output : path
        The model is written to ``output``; where there are fields too, that of columns beside it.
    targets, fields : sequence of str
        Columns and fields to learn, at least one.
    curve : str or None
        Or a curve, alone.
    meshes, inputs, results : sequence of str
        Columns, see :func:`swwl.jobs.plan.plan_fit`.
    kernel : KernelOptions
    rows : HoldOut
    n_modes, calibrate, solver, embeddings, target_scale, outliers
        See :class:`FitOptions`.
    one_regime : bool
        Never look for two branches; by default kernels "auto" and "scalars" do.
    scaled : sequence of str
        Laws, ``TARGET ~ FORMULA``.
    together
        See :class:`FitOptions`.
    cache : bool
        Keep embeddings beside the table.
    force : bool
        Overwrite files that are not models.
    """

    table: Path
    output: Path
    targets: Sequence[str] = ()
    fields: Sequence[str] = ()
    curve: str | None = None
    meshes: Sequence[str] = ()
    inputs: Sequence[str] | None = None
    results: Sequence[str] = ()
    kernel: KernelOptions = KernelOptions()
    rows: HoldOut = HoldOut()
    n_modes: int | None = None
    calibrate: bool = True
    solver: str = "auto"
    embeddings: Path | None = None
    target_scale: str | dict[str, str] | None = None
    outliers: str = "auto"
    one_regime: bool = False
    scaled: Sequence[str] = ()
    together: bool | str = "auto"
    cache: bool = True
    force: bool = False

    @property
    def numbers_output(self) -> Path:
        """Where the model of columns goes."""
        return self.output.with_name(f"{self.output.stem}-scalars{self.output.suffix}") if self.fields else self.output

    def check(self) -> None:
        """Refuse what contradicts itself, before anything is read."""
        if self.curve is not None:
            return self._check_curve()
        if not self.targets and not self.fields:
            raise InputError(
                "Nothing to learn: --target names a column of the table, --target-field a field of its meshes, "
                "--target-curve a column of curves."
            )
        if self.fields and (self.embeddings is not None or (self.solver != "auto" and not self.targets)):
            raise InputError("--solver and --embeddings do not apply to --target-field, whose models read the meshes.")
        if self.target_scale is not None and not self.targets:
            raise InputError("--log and --target-scale are for columns: name them with --target.")
        if self.rows.fidelity is not None and (len(self.targets) != 1 or self.fields):
            raise InputError("--fidelity is for one column at a time: name it with --target.")

    def _check_curve(self) -> None:
        if self.targets or self.fields:
            raise InputError("--target-curve makes a separate model: fit --target and --target-field separately.")
        if self.embeddings is not None or self.target_scale is not None or self.scaled or self.rows.fidelity:
            raise InputError(
                "--embeddings, --log, --target-scale, --scaled and --fidelity do not apply to --target-curve."
            )


def _laws_of(
    given: Sequence[str], targets: Sequence[str], fields: Sequence[str], inputs: Sequence[str]
) -> tuple[list[str], list[str]]:
    """Return the laws of columns and those of fields; refuse what is not understood."""
    known = [law for law in read_laws(list(given), [*targets, *fields], inputs) if law is not None]
    of_columns, of_fields = ([law.words for law in known if law.target in names] for names in (targets, fields))
    return of_columns, of_fields


class WrittenModel(NamedTuple):
    """A model that was fitted and saved: its file, and what people and scripts want to know of it."""

    path: Path
    facts: Record


def written_fields(
    plan: FitPlan, names: Sequence[str], path: Path, kernel: Kernel | None, options: FitOptions
) -> WrittenModel:
    """Fit a model of fields, and save it."""
    model = fit_fields(plan, names, path, kernel, options)
    model.save(path)
    return WrittenModel(path, field_model_facts(model))


OfFields = Callable[[FitPlan, Sequence[str], Path, Kernel | None, FitOptions], WrittenModel]


class FitJob:
    """The steps of ``swwl fit``: plan at once, then :meth:`check`, then :meth:`run`.

    Parameters
    ----------
    request : FitRequest
    of_fields : callable, optional
        Fits and saves a model of fields; :func:`swwl.jobs.transient.written_series` does so of fields over time.

    Attributes
    ----------
    plan : FitPlan
    solver : SolverChoice
        How columns will be fitted, and why.
    findings : list of Finding
        Filled by :meth:`check`.
    """

    def __init__(self, request: FitRequest, of_fields: OfFields | None = None):
        request.check()
        self.request, self._of_fields = request, of_fields or written_fields
        self.kernel = request.kernel.kernel
        self.plan = plan_fit(
            request.table,
            request.targets,
            request.meshes,
            request.inputs,
            kernel=self.kernel,
            rows=request.rows,
            results=request.results,
            whole=Whole(request.fields, request.curve),
        )
        self.laws = _laws_of(request.scaled, self.plan.targets, request.fields, self.plan.inputs)
        if request.fields:
            if request.kernel.merge_nodes:
                raise InputError("--merge-nodes does not apply to --target-field: fields are predicted at all nodes.")
            if request.kernel.group is not None:
                raise InputError("--group does not apply to --target-field: fields are predicted at all nodes.")
            check_fields(self.plan, request.fields)
        outputs = [
            *([request.output] if request.fields else []),
            *([request.numbers_output] if request.targets or request.curve else []),
        ]
        for file in dict.fromkeys(outputs):
            check_output(file, inputs=self.plan.files(), ours=is_model, force=request.force)
        self.memory = memory_beside(request.table, request.cache)
        self.solver = choose_solver(request.solver, len(self.plan.split.train))
        self.findings: list[Finding] = []
        self.typical: dict[str, Typical] = {}

    def check(self, progress: Progress | None = None) -> list[Finding]:
        """Look for what is odd about the table and its meshes; where there are very many, at a sample of them."""
        request = self.request
        if request.embeddings is not None:
            self.plan = without_bad(self.plan, Store(request.embeddings), request.rows.drop_incomplete)
        few = some_rows(self.plan, request.kernel.seed) if self.solver.large else self.plan
        if request.embeddings is not None:
            few = replace(few, meshes=[])  # those that could be read are in the store, and are not read again
        checked = check_plan(
            few,
            self.memory,
            n_jobs=request.kernel.n_jobs,
            merge_nodes=request.kernel.merge_nodes,
            group=request.kernel.group,
            progress=progress,
        )
        self.findings, self.typical = checked.findings, checked.typical
        return self.findings

    def run(self, progress: Callable[[str], Progress | None] = no_progress) -> Iterator[WrittenModel]:
        """Fit and save the models, and yield each: that of fields first, then that of columns."""
        request = self.request
        options = FitOptions(
            self.memory,
            self.typical,
            request.calibrate,
            request.kernel.seed,
            request.kernel.n_jobs,
            n_modes=request.n_modes,
            progress=progress,
        )
        if request.curve is not None:
            given = None if request.kernel.is_default else make_kernel(request.kernel, self.plan)
            of_curves = fit_curves(self.plan, request.curve, request.output, given, options)
            of_curves.save(request.output)
            yield WrittenModel(request.output, curve_model_facts(of_curves))
        if request.fields:
            given = None if self.kernel == "auto" else make_kernel(request.kernel, self.plan)
            options = replace(options, scaled=self.laws[1])
            yield self._of_fields(self.plan, request.fields, request.output, given, options)
        if request.targets:
            kernel, store = self._kernel_and_store(progress)
            if store is not None:
                self.memory.n_nodes.update(Store(store).nodes())
            options = replace(
                options,
                solver=self.solver.name,
                embeddings=store,
                target_scale=request.target_scale,
                outliers=request.outliers,
                regimes="auto" if self.kernel in ("auto", "scalars") and not request.one_regime else "one",
                scaled=self.laws[0],
                together=request.together,
            )
            model = fit_plan(self.plan, kernel, request.numbers_output, options)
            model.save(request.numbers_output)
            yield WrittenModel(request.numbers_output, model_facts(model))

    def _kernel_and_store(self, progress: Callable[[str], Progress | None]) -> tuple[Kernel | None, Path | None]:
        """Return the kernel, None for the regressor's own, and the store that holds what it keeps of meshes, if any.

        Very many meshes are embedded into a store beside the table, unless nothing may be kept there.
        """
        request, options = self.request, self.request.kernel
        own = request.embeddings is None and self.solver.large and request.cache and bool(self.plan.meshes)
        if options.is_default and not own:
            return None, request.embeddings
        kernel = make_kernel(options, self.plan, stored=request.embeddings is not None)
        if not own:
            return kernel, request.embeddings
        show = progress("embeddings")
        folder, _ = store_beside(self.plan, kernel, seed=options.seed, n_jobs=options.n_jobs or 1, progress=show)
        return kernel, folder

    def facts(self) -> Record:
        """Return what was learned from: the table, its rows, findings and meshes."""
        return {
            "table": self.request.table,
            "ignored": self.plan.ignored,
            "split": self.plan.split.words,
            "findings": [finding.facts() for finding in self.findings],
        } | mesh_facts(self.plan, self.memory)
