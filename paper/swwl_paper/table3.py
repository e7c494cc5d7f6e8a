"""Table 3: the time to build the matrices of all settings of each kernel, in one run on one machine."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import pandas as pd
from joblib import parallel_config
from numpy.typing import NDArray
from sklearn.base import clone

from swwl.classification.baselines import GramBaseline
from swwl.classification.nested_cv import MatrixCache, matrix_key
from swwl.kernels import Factor
from swwl.mesh.graph import Graph
from swwl.plots.style import CYCLE, MARKERS, new_figure, style
from swwl_paper.classification import DATASETS, FUSED, KERNELS, ClassificationPlan, load_set, settings_of, some_of
from swwl_paper.study import Skipped, Study

PAPER = {
    "SWWL": ("0.7 + 0.1", "0.6 + 0.1", "1.5 + 0.6", "1.1 + 0.2", "1.3 + 0.1"),
    "WWL": ("0.3 + 97", "0.3 + 131", "0.7 + 803", "0.5 + 220", "0.9 + 34"),
    "FGW": ("0.6 + 714", "0.7 + 842", "1.6 + 7882", "0.9 + 1381", "0.4 + 145"),
    "RPW": ("35 + 5", "40 + 7", "240 + 40", "220 + 40", "–"),
    "PK": ("10", "13", "52", "53", "–"),
    "GH": ("77", "108", "3998", "230", "–"),
}
TIMED = tuple(name for name in KERNELS if name != "SWWL tuned")
_ALL_BUT_BZR = DATASETS[1:]
SIZES = {
    "small": ClassificationPlan(datasets=("BZR",), kernels=TIMED, graphs={"": 30, ("SWWL", "BZR"): None}),
    "medium": ClassificationPlan(
        datasets=("BZR", "ENZYMES"), kernels=TIMED, graphs={"": 100, ("SWWL", "BZR"): None, ("SWWL", "ENZYMES"): None}
    ),
    "full": ClassificationPlan(
        kernels=TIMED,
        graphs={"": None} | {(kernel, name): 60 for kernel in ("WWL", "FGW", "GH", "RPW") for name in _ALL_BUT_BZR},
    ),
}
_REPEATS = 5  # of kernels that are done in a moment


def run(study: Study) -> None:
    """Run the experiment."""
    plan = study.pick(SIZES)
    rows = study.rows(["dataset", "kernel", "setting"])
    datasets = study.chosen("dataset", DATASETS if study.options.get("dataset") else plan.datasets)
    kernels = study.chosen("kernel", TIMED)
    cache = MatrixCache(study.work("matrices"))
    for dataset in datasets:
        graphs, y = load_set(dataset, labels=dataset in FUSED)
        classes = np.unique(y, return_inverse=True)[1]
        for kernel in kernels:
            kept = some_of(y, plan.n_graphs(kernel, dataset))
            part = [graphs[i] for i in kept]
            for factor in settings_of(kernel, dataset):
                if rows.has(dataset=dataset, kernel=kernel, setting=repr(factor)):
                    continue
                try:
                    with parallel_config(n_jobs=study.n_jobs):
                        prepare, matrix, built = build_times(factor, part, classes[kept])
                except ImportError as error:
                    study.say(f"{kernel} is left out: {error}")
                    kernels = [name for name in kernels if name != kernel]
                    break
                if not factor.supervised:
                    cache.put(matrix_key(factor, part), built)  # table 2 need not build it again
                share = len(graphs) / len(part)
                row = {"dataset": dataset, "kernel": kernel, "setting": repr(factor), "n_graphs": len(graphs)}
                row |= {"timed_graphs": len(part), "prepare_seconds": prepare, "matrix_seconds": matrix}
                rows.add(row | {"seconds": prepare * share + matrix * share**2})
                study.say(f"{dataset}, {factor!r}: {prepare:.3g} + {matrix:.3g} s for {len(part)} graphs")
    frame = rows.frame()
    if frame.empty:
        raise Skipped("no kernel could be timed.")
    _show(study, frame)
    study.figure(_draw(frame))


def build_times(factor: Factor, graphs: list[Graph], classes: NDArray[Any]) -> tuple[float, float, NDArray[np.float64]]:
    """Return the seconds to prepare graphs (embed them, train on them), those to build their matrix, and the matrix.

    A first run on a few graphs, which starts processes and loads libraries, does not count. What takes less than a
    second in all is repeated, and the best time counts.

    Parameters
    ----------
    factor : Factor
    graphs : list of N Graph
    classes : ndarray of shape (N,)
        For a factor that learns from them.

    Examples
    --------
    >>> from swwl import SWWL
    >>> rods = [Graph([[0.0], [length]], [(0, 1)]) for length in (1.0, 1.5, 2.0)]
    >>> prepare, build, distances = build_times(SWWL(n_projections=4, n_quantiles=4), rods, np.zeros(3))
    >>> prepare > 0, build > 0, distances.shape
    (True, True, (3, 3))
    """
    few = some_of(classes, 10)
    _build(factor, [graphs[i] for i in few], classes[few])
    best = (np.inf, np.inf)
    for _ in range(_REPEATS):
        prepare, build, matrix = _build(factor, graphs, classes)
        best = min(best, (prepare, build), key=sum)
        if prepare + build > 1:
            break
    return *best, matrix


def _build(factor: Factor, graphs: list[Graph], classes: NDArray[Any]) -> tuple[float, float, NDArray[np.float64]]:
    new: Any = clone(factor)
    start = time.perf_counter()
    rows = new.fit(graphs, y=classes) if factor.supervised else new.fit(graphs)
    middle = time.perf_counter()
    matrix = new.gram(rows) if isinstance(new, GramBaseline) else new.items(rows)[0]
    return middle - start, time.perf_counter() - middle, matrix


def _show(study: Study, frame: pd.DataFrame) -> None:
    """Print seconds beside the paper's, and how many times those of SWWL they are."""
    datasets = [name for name in DATASETS if name in set(frame["dataset"])]
    kernels = [name for name in TIMED if name in set(frame["kernel"])]
    seconds = frame.groupby(["kernel", "dataset"])["seconds"].sum()
    scaled = frame[frame["timed_graphs"] < frame["n_graphs"]].groupby(["kernel", "dataset"])["timed_graphs"].first()
    lines = []
    for kernel in kernels:
        cells, ratios = [], []
        for dataset in datasets:
            value, floor = seconds.get((kernel, dataset)), seconds.get(("SWWL", dataset))
            mark = "≈ " if (kernel, dataset) in scaled.index else ""
            cells.append("–" if value is None else f"{mark}{_two_digits(value)}")
            ratios.append("–" if value is None or floor is None else f"{mark}{_two_digits(value / floor)} ×")
        lines.append([kernel, *cells])
        if kernel != "SWWL":
            lines.append([f"{kernel} / SWWL", *ratios])
        lines.append([f"{kernel}, the paper (4 cores)", *(PAPER[kernel][DATASETS.index(name)] for name in datasets)])
    notes = "Seconds to build the matrices of all settings, embedding or training included."
    if len(scaled):
        counts = {name: sorted(set(part)) for name, part in scaled.groupby("dataset", sort=False)}
        texts = ", ".join(f"{' or '.join(map(str, n))} of {name}" for name, n in counts.items())
        notes += f" ≈: timed on fewer graphs ({texts}), then scaled, preparation by graphs and matrices by pairs."
    study.show("Seconds for all matrices", pd.DataFrame(lines, columns=["kernel", *datasets]), notes)


def _two_digits(value: float) -> str:
    return f"{value:.0f}" if value >= 99.5 else f"{value:.2g}"


def _draw(frame: pd.DataFrame) -> Any:
    """Return a figure: seconds of every kernel on every set, on a log axis."""
    datasets = [name for name in DATASETS if name in set(frame["dataset"])]
    seconds = frame.groupby(["kernel", "dataset"])["seconds"].sum()
    figure = new_figure(6.4, 3.4)
    figure.get_layout_engine().set(rect=(0, 0.04, 1, 0.96))
    with style():
        ax = figure.subplots()
        for kernel, color, marker in zip(TIMED, CYCLE, MARKERS, strict=False):
            found = [(place, seconds[kernel, name]) for place, name in enumerate(datasets) if (kernel, name) in seconds]
            if found:
                places, values = zip(*found, strict=True)
                ax.plot(places, values, marker, color=color, label=kernel)
        ax.set_yscale("log")
        ax.set_xticks(range(len(datasets)), datasets)
        ax.set_xlim(-0.5, len(datasets) - 0.5)
        ax.set_ylabel("seconds for the matrices of all settings")
        ax.legend(loc="center left", bbox_to_anchor=(1.0, 0.5))
    return figure
