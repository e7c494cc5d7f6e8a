"""The same tasks with other software: accuracy, coverage, time, memory and lines of code."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from swwl.evaluation import scores
from swwl.mesh.mesh import Mesh
from swwl.parallel import one_blas_thread
from swwl.plots.style import CYCLE, GRAY, new_figure, style
from swwl_paper.filesets import SETS, table_of
from swwl_paper.measure import in_child, peak_memory
from swwl_paper.peers import PEERS, lacking, lines_of
from swwl_paper.study import Skipped, Study, in_words

KEYS = ("dataset", "target", "peer")
# Blades as they are made share their topology, which coarsening would take from them.
TASKS = {name: SETS[name] for name in ("tensile2d", "blade-random", "airfrans")} | {
    "blade": replace(SETS["blade"], title="blades, one topology", coarsened=False)
}


@dataclass(frozen=True)
class ComparisonPlan:
    """How large the experiment is.

    Attributes
    ----------
    n_train, n_test : int
    nodes : dict of (int, int)
        Of generated meshes and coarsened ones, by set.
    """

    n_train: int
    n_test: int
    nodes: dict[str, tuple[int, int]]


SIZES = {
    "small": ComparisonPlan(60, 40, {"tensile2d": (250, 0), "blade": (250, 0), "blade-random": (250, 0)}),
    "medium": ComparisonPlan(120, 100, {"tensile2d": (1000, 0), "blade": (1000, 0), "blade-random": (1000, 0)}),
    "full": ComparisonPlan(300, 200, {"tensile2d": (1000, 0), "blade": (1000, 0), "blade-random": (3000, 0)}),
}


def run(study: Study) -> None:
    """Fit what is not done yet, each peer in a process of its own; print what it shows, and draw it."""
    plan = study.pick(SIZES)
    names, peers = study.chosen("dataset", list(TASKS)), study.chosen("kernel", list(PEERS))
    missing = {peer: lacking(peer) for peer in peers}
    for peer, packages in missing.items():
        if packages:
            study.say(f"{PEERS[peer][0]} is left out: {', '.join(packages)} is not installed")
    for name in names:
        try:
            run_set(study, plan, name, [peer for peer in peers if not missing[peer]])
        except Skipped as reason:
            study.say(f"{TASKS[name].title} are left out: {reason}")
    frame = study.rows(KEYS).frame()
    shown = frame if frame.empty else frame[frame["dataset"].isin(names) & frame["peer"].isin(peers)]
    if shown.empty:
        raise Skipped("none of the data sets is here")
    for (name, target), part in shown.groupby(["dataset", "target"], sort=False):
        first = part.iloc[0]
        title = f"{TASKS[str(name)].title}: {target}, {first['n_train']} to learn from, {first['n_test']} to test"
        study.show(title, table_of_peers(part), NOTES)
    study.figure(draw(shown))


NOTES = (
    "Error and width are over the deviation of the tests. CPU time is that of one process and one thread, from meshes "
    "in memory to predictions, over that of swwl's default; MB is the peak of that process, with Python and its "
    "libraries. Lines are those of the functions in peers.py."
)


def run_set(study: Study, plan: ComparisonPlan, name: str, peers: list[str]) -> None:
    """Fit the peers that have no row yet to the first target of one data set."""
    rows = study.rows(KEYS)
    target = TASKS[name].targets[0]
    wanted = [peer for peer in peers if not rows.has(dataset=name, target=target, peer=peer)]
    if not wanted:
        return
    table = table_of(study, name, plan.n_train + plan.n_test, plan.nodes.get(name, (0, 0)), TASKS[name])
    n_test = min(plan.n_test, len(table) // 3)
    n_train = min(plan.n_train, len(table) - n_test)
    order = np.random.default_rng([8001, study.seed]).permutation(len(table))
    cases = table.iloc[np.concatenate([order[:n_train], order[-n_test:]])]
    numbers = cases[list(TASKS[name].scalars)].to_numpy(float)
    paths, y = [str(path) for path in cases["mesh"]], cases[target].to_numpy(float)
    progress = study.progress(TASKS[name].title)
    for done, peer in enumerate(wanted, 1):
        found = in_child(measure, peer, paths, numbers, y, n_train)
        key = {"dataset": name, "target": target, "peer": peer}
        rows.add(key | {"n_train": n_train, "n_test": n_test} | found)
        if progress is not None:
            progress(done, len(wanted))


def measure(
    peer: str, paths: list[str], numbers: NDArray[np.float64], y: NDArray[np.float64], n_train: int
) -> dict[str, Any]:
    """Fit a peer to the first cases and score it on the others; nan where it does not suit the meshes.

    Returns
    -------
    dict
        ``error, coverage, width`` (over the deviation of the tests), ``seconds, megabytes, lines``.
    """
    from swwl.mesh.io import read_mesh

    meshes: list[Mesh] = [read_mesh(path) for path in paths]
    function = PEERS[peer][2]
    with one_blas_thread():
        start = time.process_time()
        found = function(meshes[:n_train], numbers[:n_train], y[:n_train], meshes[n_train:], numbers[n_train:])
        seconds = time.process_time() - start
    known = {"seconds": seconds, "megabytes": peak_memory(), "lines": lines_of(peer)}
    if found is None:
        return {"error": np.nan, "coverage": np.nan, "width": np.nan} | known
    truth = y[n_train:]
    score, deviation = scores.score(truth, found), float(truth.std())
    return {"error": score.rmse / deviation, "coverage": score.coverage, "width": score.width / deviation} | known


def table_of_peers(part: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of one task as texts, the best first."""
    lines = []
    ours = part.loc[part["peer"] == "swwl", "seconds"]
    unit = float(ours.iloc[0]) if len(ours) else float(part["seconds"].min())
    for row in part.sort_values("error", na_position="last").to_dict("records"):
        suits = bool(np.isfinite(row["error"]))
        lines.append(
            {
                "software": PEERS[row["peer"]][0],
                "error": f"{row['error']:.3g}" if suits else "needs one topology",
                "inside 95 %": f"{100 * row['coverage']:.0f} %" if suits else "–",
                "width": f"{row['width']:.2g}" if suits else "–",
                "CPU": f"{_one_digit(row['seconds'] / unit)} ×" if suits else "–",
                "MB": f"{row['megabytes']:.0f}" if suits else "–",
                "lines": f"{row['lines']:.0f}",
            }
        )
    return pd.DataFrame(lines)


def _one_digit(ratio: float) -> str:
    """Return a ratio to one digit, without an exponent.

    Examples
    --------
    >>> _one_digit(21.09), _one_digit(0.068)
    ('20', '0.07')
    """
    return f"{float(f'{ratio:.1g}'):g}"


def draw(frame: pd.DataFrame) -> Any:
    """Return a figure: the error of each software, one panel for each task."""
    tasks = list(frame.groupby(["dataset", "target"], sort=False))
    figure = new_figure(9, 2.6 * -(-len(tasks) // 2))
    names = [name for name in PEERS if name in set(frame["peer"])]
    with style():
        axes = figure.subplots(-(-len(tasks) // 2), 2, squeeze=False).ravel()
        for ax in axes[len(tasks) :]:
            ax.axis("off")
        for ax, ((name, target), part) in zip(axes, tasks, strict=False):
            errors = part.set_index("peer")["error"].reindex(names)
            colors = [CYCLE[0] if peer in ("swwl", "paper") else GRAY for peer in names]
            ax.barh(np.arange(len(names)), errors.fillna(0), color=colors, height=0.65)
            ax.set_yticks(np.arange(len(names)), names)
            ax.invert_yaxis()
            ax.set(xlabel="error over deviation", title=in_words(f"{TASKS[str(name)].title}: {target}"))
    return figure
