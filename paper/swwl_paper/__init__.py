"""The paper's tables and figures, run again: each an experiment with three sizes that can be interrupted.

==============  ====================================================================================
table2          accuracy of graph classification, SWWL and the kernels of the paper
table3          time to build the matrices of all settings of these kernels
table4          errors of Gaussian process regression on simulation meshes
table5          time and memory at the paper's sizes
scaling         cost against nodes, graphs, projections, quantiles and iterations
figure-pq       error against projections and quantiles
figure-curves   characteristic curves of a new blade, with bands
figure-gp       samples of a Gaussian process over graphs
figure-meshes   meshes of the data sets
rgasp           the robust Gaussian process beside R's
defaults        the model that users get without naming a kernel beside others, on all data sets
airfrans        lift and drag of AirfRANS by the default, official split, beside published figures
ahmed           drag and lift of AhmedML by the default, from the shape alone, beside published figures
fields          whole fields on new meshes: the field regressor beside nearest fields and transport
comparison      the same tasks with other software
==============  ====================================================================================

``swwl reproduce NAME`` runs one from the command line; :func:`reproduce` does from Python.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from swwl.errors import InputError

# ``swwl --help`` imports this module for its command, and need not wait for pandas.
if TYPE_CHECKING:
    from swwl_paper.study import Study

EXPERIMENTS = (
    "rgasp",
    "figure-meshes",
    "figure-gp",
    "figure-curves",
    "figure-pq",
    "table2",
    "table3",
    "table4",
    "table5",
    "scaling",
    "defaults",
    "airfrans",
    "ahmed",
    "fields",
    "comparison",
)
SIZES = ("small", "medium", "full")


def reproduce(
    name: str,
    size: str = "small",
    folder: str | Path = "results",
    *,
    seed: int = 0,
    n_jobs: int = -1,
    options: Mapping[str, Sequence[str]] | None = None,
    command: str = "",
    out: Any = None,
) -> Study:
    """Run an experiment, or go on with one that was interrupted.

    Parameters
    ----------
    name : str
        One of ``EXPERIMENTS``.
    size : {"small", "medium", "full"}
        Minutes, an hour or so, or the paper's sizes and hours.
    folder : path
        For ``NAME.csv``, ``NAME.md``, ``NAME.png`` and ``NAME.json``.
    seed, n_jobs, options, command, out
        See :class:`swwl_paper.study.Study`.

    Returns
    -------
    Study
        Finished.

    Raises
    ------
    swwl_paper.study.Skipped
        The experiment needs data or a library that is not here.
    """
    from swwl_paper.study import Study

    if name not in EXPERIMENTS:
        raise InputError(f"There is no experiment {name!r}; choose from {', '.join(EXPERIMENTS)}.")
    study = Study(name, size, Path(folder), seed=seed, n_jobs=n_jobs, options=options, command=command, out=out)
    module = importlib.import_module(f"swwl_paper.{name.replace('-', '_')}")
    study.begin()
    module.run(study)
    study.finish()
    return study
