"""The main job: simulate, learn with and without meshes, compare on held-out cases, write all there is to look at.

And the same with files as users have them: parts in STL files and one table, which `write_own_files` makes.
"""

from __future__ import annotations

import shutil
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from swwl import datasets
from swwl.datasets.arms import make_arms
from swwl.errors import InputError
from swwl.evaluation import scores
from swwl.evaluation.metadata import held_out_of
from swwl.formatting import Record
from swwl.gp.prediction import Prediction
from swwl.jobs.curves import draw_curves, plan_curves
from swwl.jobs.fit import FitOptions, fit_plan, no_progress
from swwl.jobs.outputs import check_output, is_model, is_picture, is_report, predictions_of
from swwl.jobs.plan import KernelOptions, make_kernel, plan_fit
from swwl.jobs.predict import prediction_table
from swwl.jobs.table import memory_beside
from swwl.parallel import Progress
from swwl.regression.estimator import RobustGPRegressor
from swwl.report import write_report
from swwl.tables.read import write_table

TARGET = "max_von_mises"
FEWEST = 40
_MODELS = {"scalars alone": "scalars", "SWWL": "swwl", "principal SWWL": "principal", "the default": "auto"}


@dataclass(frozen=True)
class Demo:
    """What a demonstration found and wrote.

    Attributes
    ----------
    scores : list of dict
        One row per model: its name and its scores on the held-out plates.
    n_train, n_test : int
    table : path
        Of the simulations.
    files : dict of str to path
        Model, predictions, curves and report.
    seconds : float
    """

    scores: list[Record]
    n_train: int
    n_test: int
    table: Path
    files: dict[str, Path]
    seconds: float


def run_demo(
    folder: Path,
    *,
    n_samples: int = 150,
    n_nodes: int = 900,
    seed: int = 0,
    n_jobs: int = -1,
    force: bool = False,
    tell: Callable[[str], None] = lambda step: None,
    progress: Callable[[str], Progress | None] = no_progress,
) -> Demo:
    """Do it all in a folder; what an earlier run left there is used.

    Parameters
    ----------
    folder : path
    n_samples, n_nodes, seed : int
        Of the simulated plates.
    n_jobs : int
        Processes and threads.
    force : bool
        Overwrite what the folder holds, even if no demonstration wrote it.
    tell : callable
        Called with the name of every model before it is fitted.
    progress : callable
        Called with a label, returns what shows progress, or None.
    """
    if n_samples < FEWEST:
        raise InputError(
            f"At least {FEWEST} simulations are needed, to learn from some and test on others, not {n_samples}."
        )
    start = time.perf_counter()
    data = folder / "data"
    table = data / "table.csv"
    names = ("model.swwl", "predictions.csv", "curves.png", "report.html")
    files = {Path(name).stem: folder / name for name in names}
    _check_files(folder, force)
    datasets.write_dataset(
        "tensile2d",
        n_samples,
        data,
        n_nodes=n_nodes,
        random_state=seed,
        n_jobs=n_jobs,
        force=force,
        progress=progress("simulations"),
    )
    memory = memory_beside(table)
    rows: list[Record] = []
    for title, kernel in _MODELS.items():
        tell(title)
        plan = plan_fit(table, [TARGET], kernel=kernel)
        wanted = KernelOptions(kernel, n_jobs=n_jobs)
        factors = None if wanted.is_default else make_kernel(wanted, plan)
        model = fit_plan(plan, factors, files["model"], FitOptions(memory, n_jobs=n_jobs, progress=progress))
        y, prediction = _held_out(model)
        found = scores.score(y[:, 0], prediction.column(0))
        rows.append({"model": title, **found._asdict()})
    model.save(files["model"])

    frame = plan.frame.iloc[plan.split.test]
    predictions = prediction_table(model, frame, prediction).assign(simulated=frame[TARGET])
    write_table(files["predictions"], predictions)
    _draw_curves(model, data / frame["mesh"].iloc[0], files["curves"])
    write_report(files["report"], model, files["model"])
    n_train, n_test = len(plan.split.train), len(plan.split.test)
    return Demo(rows, n_train, n_test, table, files, time.perf_counter() - start)


@dataclass(frozen=True)
class OwnFiles:
    """Files as users have them, and the commands for them.

    Attributes
    ----------
    table, new : path
        Parts whose answer is known, and parts to predict.
    answers : list of float
        What the formula that made the files gives for the new parts.
    commands : list of list of str
        Words of each command, without the name of the program.
    """

    table: Path
    new: Path
    answers: list[float]
    commands: list[list[str]]


ANSWER = "deflection_mm"
_N_ARMS, _N_NEW = 36, 6


def write_own_files(folder: Path, force: bool = False) -> OwnFiles:
    """Write small parts in STL files, a table with the answer of most and one without it of the others.

    Parameters
    ----------
    folder : path
    force : bool
        Overwrite what the folder holds. Otherwise it is refused if a file there is not the one that would be written,
        and nothing is written.
    """
    table, new = folder / "table.csv", folder / "new.csv"
    model, report = folder / "model.swwl", folder / "report.html"
    more = ["--force"] if force else []
    commands = [
        ["check", str(table), "--target", ANSWER],
        ["fit", str(table), "--mesh", "part", "--target", ANSWER, "-o", str(model), *more],
        ["predict", str(model), str(new), "-o", str(folder / "predictions.csv"), *more],
        ["report", str(model), "-o", str(report), *more],
    ]
    arms = make_arms(_N_ARMS)
    names = [f"parts/arm_{k:02d}.stl" for k in range(1, _N_ARMS + 1)]
    rows = arms.assign(part=names)
    with tempfile.TemporaryDirectory() as made:
        (Path(made) / "parts").mkdir()
        for name, mesh in zip(names, arms["part"], strict=True):
            mesh.write(Path(made) / name)
        write_table(Path(made) / table.name, rows[:-_N_NEW])
        write_table(Path(made) / new.name, rows[-_N_NEW:].drop(columns=ANSWER))
        files = [*names, table.name, new.name]
        for name in files:
            if (folder / name).exists() and not force:
                if not (folder / name).is_file() or (folder / name).read_bytes() != (Path(made) / name).read_bytes():
                    raise InputError(
                        f"{folder / name}: already exists and is not what this demonstration writes, so that nothing "
                        "was written. Name another folder; for files of your own, run swwl check and swwl fit."
                    )
        (folder / "parts").mkdir(parents=True, exist_ok=True)
        for name in files:
            shutil.copyfile(Path(made) / name, folder / name)
    return OwnFiles(table, new, rows[ANSWER][-_N_NEW:].tolist(), commands)


def _check_files(folder: Path, force: bool) -> None:
    """Refuse to overwrite what no demonstration wrote."""
    predictions = predictions_of([TARGET])
    ours = {"model.swwl": is_model, "predictions.csv": predictions, "curves.csv": predictions}
    for name, known in (ours | {"curves.png": is_picture, "report.html": is_report}).items():
        if (folder / name).exists():  # the folder itself need not be there yet
            check_output(folder / name, ours=known, force=force)


def _held_out(model: RobustGPRegressor) -> tuple[NDArray[np.float64], Prediction]:
    found = held_out_of(model)
    if found is None:
        raise InputError("The data in the folder has no test rows; choose another folder.")
    return found


def _draw_curves(model: RobustGPRegressor, mesh: Path, path: Path) -> None:
    """Draw stress against pressure for three yield stresses of one held-out plate."""
    train = model.train_inputs_
    pressures = np.linspace(train["pressure"].min(), train["pressure"].max(), 25).tolist()
    yields = train["yield_stress"].quantile([0.1, 0.5, 0.9]).round(0).tolist()
    plan = plan_curves(model, ("pressure", pressures), ("yield_stress", yields), meshes={"mesh": mesh})
    draw_curves(model, plan, path, f"a plate that was held out ({mesh.name})")
