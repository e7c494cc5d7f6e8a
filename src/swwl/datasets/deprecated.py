"""Names of earlier versions, which work as before and say what replaced them."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterable
from functools import wraps
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

import meshio
import numpy as np
import pandas as pd

from swwl.datasets.folder import load_dataset
from swwl.datasets.generated import make_samples, write_dataset
from swwl.datasets.generator import Sample
from swwl.datasets.plaid import fetch_plaid
from swwl.errors import InputTypeError
from swwl.mesh.remesh.coarsen import coarsen as coarsen_mesh
from swwl.parallel import Progress

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")


def renamed_arguments(**new_names: str) -> Callable[[Callable[Arguments, Result]], Callable[Arguments, Result]]:
    """Let a function take arguments by their old names, too, with a warning.

    Parameters
    ----------
    new_names : str
        Today's name for every old one.
    """

    def decorate(function: Callable[Arguments, Result]) -> Callable[Arguments, Result]:
        @wraps(function)
        def translated(*args: Arguments.args, **kwargs: Arguments.kwargs) -> Result:
            for old, new in new_names.items():
                if old in kwargs:
                    if new in kwargs:
                        raise InputTypeError(f"{function.__name__} was given {new} and {old}, which are the same.")
                    message = f"{function.__name__}({old}=) is deprecated; use {new}=."
                    warnings.warn(message, DeprecationWarning, stacklevel=2)
                    kwargs[new] = kwargs.pop(old)
            return function(*args, **kwargs)

        return translated

    return decorate


def make(
    name: str,
    n_samples: int,
    *,
    nodes: int | None = None,
    seed: int = 0,
    random_topology: bool = False,
    jobs: int = 1,
    progress: Progress | None = None,
) -> list[Sample]:
    """Make samples in memory. Deprecated: use `make_tensile2d`, `make_airfoil`, `make_blade` or `make_samples`."""
    _warn("make(name, nodes=, seed=, jobs=)", f"make_{name} or make_samples with n_nodes=, random_state= and n_jobs=")
    return make_samples(
        name,
        n_samples,
        n_nodes=nodes,
        random_state=seed,
        random_topology=random_topology,
        n_jobs=jobs,
        progress=progress,
    )


def write(
    name: str,
    n_samples: int,
    folder: str | os.PathLike[str],
    *,
    nodes: int | None = None,
    seed: int = 0,
    jobs: int = 1,
    **options: Any,
) -> pd.DataFrame:
    """Make a data set in a folder. Deprecated: use `write_dataset`."""
    _warn("write(nodes=, seed=, jobs=)", "write_dataset with n_nodes=, random_state= and n_jobs=")
    return write_dataset(name, n_samples, folder, n_nodes=nodes, random_state=seed, n_jobs=jobs, **options)


def load(folder: str | os.PathLike[str], *, shape: bool = False) -> pd.DataFrame:
    """Read the table of a data set. Deprecated: use `load_dataset`."""
    _warn("load", "load_dataset")
    return load_dataset(folder, shape=shape)


def download(
    name: str, folder: str | os.PathLike[str], *, split_ids: dict[str, Iterable[int]] | None = None
) -> pd.DataFrame:
    """Download a PLAID data set and read it. Deprecated: use `fetch_plaid`."""
    _warn("download", "fetch_plaid")
    return fetch_plaid(name, folder, split_ids=split_ids)


def coarsen(mesh: Any, nodes: int, *, tolerance: float = 0.02) -> meshio.Mesh:
    """Remesh with fewer nodes. Deprecated: use `coarsen_mesh`, which returns a `swwl.Mesh`, not a meshio mesh."""
    _warn("coarsen", "coarsen_mesh, which returns a swwl.Mesh")
    coarse = coarsen_mesh(mesh, nodes, tolerance=tolerance)
    points, flat = coarse.points, coarse.dimension == 2
    if flat and _three_columns(mesh):
        points = np.column_stack([points, np.zeros(len(points))])
    return meshio.Mesh(points, list(coarse.cells.items()), point_data=dict(coarse.fields))


def _three_columns(mesh: Any) -> bool:
    """Whether a mesh holds three coordinates even in the plane."""
    if isinstance(mesh, (str, os.PathLike)):
        return Path(mesh).suffix in (".vtu", ".vtk")
    return isinstance(mesh, meshio.Mesh) and mesh.points.shape[1] == 3


def _warn(old: str, new: str) -> None:
    warnings.warn(f"swwl.datasets.{old} is deprecated; use {new}.", DeprecationWarning, stacklevel=3)
