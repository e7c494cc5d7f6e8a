"""The generators' public side: samples and tables in memory, folders on disk."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TypedDict, Unpack

import pandas as pd

from swwl import __version__
from swwl.datasets.airfoil import AIRFOIL
from swwl.datasets.blade import BLADE
from swwl.datasets.capacitor import CAPACITOR
from swwl.datasets.channel import CHANNEL
from swwl.datasets.folder import (
    Json,
    Row,
    SampleFolder,
    check_disk,
    check_format,
    check_jobs,
    check_unchanged,
    load_dataset,
    mesh_name,
    read_csv,
)
from swwl.datasets.generator import Generator, Request, Sample, run
from swwl.datasets.tensile2d import TENSILE2D
from swwl.errors import InputError
from swwl.parallel import Progress

GENERATORS: dict[str, Generator] = {g.name: g for g in (TENSILE2D, AIRFOIL, BLADE, CAPACITOR, CHANNEL)}


class MeshOptions(TypedDict, total=False):
    """Which meshes are made; `make_tensile2d` explains each."""

    n_nodes: int | None
    random_state: int
    random_topology: bool


class MakeOptions(MeshOptions, total=False):
    """What all of ``make_*`` take; `make_tensile2d` explains each."""

    test_fraction: float
    shape: bool
    n_jobs: int | None
    progress: Progress | None


def make_tensile2d(
    n_samples: int = 100,
    *,
    n_nodes: int | None = None,
    random_state: int = 0,
    random_topology: bool = False,
    test_fraction: float = 0.2,
    shape: bool = False,
    n_jobs: int | None = None,
    progress: Progress | None = None,
) -> pd.DataFrame:
    """Make notched plates under tension: plane-stress elasto-viscoplastic finite elements.

    Parameters
    ----------
    n_samples : int
    n_nodes : int, optional
        Wanted number of nodes per mesh, met within a few per cent; 1000 by default.
    random_state : int
        The same one gives the same data, and a larger set begins with the smaller one.
    random_topology : bool
        Mesh every sample at a resolution of its own, from half to one and a half times `n_nodes`.
    test_fraction : float
        Share of the samples, the last ones, that the column ``split`` calls ``test``.
    shape : bool
        Add the parameters that drew the meshes as further columns: what a model on meshes has to find out, so not to
        be given to one. Here ``notch_radius`` and ``notch_height``.
    n_jobs : int, optional
        Processes, -1 for one per core. The data do not depend on it.
    progress : callable, optional
        Called with the number done and the total, for instance `swwl.parallel.ProgressBar("plates")`.

    Returns
    -------
    table : pandas.DataFrame
        Columns ``mesh`` (`swwl.Mesh` objects with the fields ``von_mises`` and ``displacement``, of two components),
        ``split``, then the inputs ``yield_stress, hardening, hardening_rate, viscosity, exponent, pressure`` and the
        target ``max_von_mises`` (stresses in MPa; the plate is 2 wide).

    Examples
    --------
    >>> table = make_tensile2d(3, n_nodes=200)
    >>> table["max_von_mises"].round(1).tolist()
    [136.6, 132.8, 113.2]
    >>> float(table["mesh"][0].fields["von_mises"].max().round(1))
    136.6
    """
    options: MakeOptions = {"n_nodes": n_nodes, "random_state": random_state, "random_topology": random_topology}
    options |= {"test_fraction": test_fraction, "shape": shape, "n_jobs": n_jobs, "progress": progress}
    return _table("tensile2d", n_samples, **options)


def make_airfoil(n_samples: int = 100, **options: Unpack[MakeOptions]) -> pd.DataFrame:
    """Make NACA airfoils in a stream: vortex panels with an integral boundary layer.

    Parameters
    ----------
    n_samples : int
    **options
        ``n_nodes``, ``random_state``, ``random_topology``, ``test_fraction``, ``shape``, ``n_jobs`` and ``progress``
        as for `make_tensile2d`, with 12 000 nodes by default; cells vary in aspect, too, with `random_topology`. The
        shape is ``camber, camber_position, thickness``.

    Returns
    -------
    table : pandas.DataFrame
        Columns ``mesh`` (`swwl.Mesh` objects with the field ``pressure_coefficient``), ``split``, then the inputs
        ``incidence, velocity`` (degrees, m/s) and the targets ``lift, drag`` (coefficients).

    Examples
    --------
    >>> make_airfoil(2, n_nodes=500).columns.tolist()
    ['mesh', 'split', 'incidence', 'velocity', 'lift', 'drag']
    """
    return _table("airfoil", n_samples, **options)


def make_blade(n_samples: int = 100, **options: Unpack[MakeOptions]) -> pd.DataFrame:
    """Make blades of a compressor rotor: a blade-element model with correlated losses.

    Parameters
    ----------
    n_samples : int
    **options
        ``n_nodes``, ``random_state``, ``random_topology``, ``test_fraction``, ``shape``, ``n_jobs`` and ``progress``
        as for `make_tensile2d`, with 3000 nodes by default; cells vary in aspect, too, with `random_topology`. The
        shape is ``inlet_angle, exit_angle, chord, thickness``, each at ``_hub``, ``_mid`` and ``_tip``.

    Returns
    -------
    table : pandas.DataFrame
        Columns ``mesh`` (`swwl.Mesh` objects with the field ``pressure``), ``split``, then the inputs ``speed`` (rpm)
        and ``pressure`` (over inlet total pressure) and the targets ``massflow, pressure_ratio, efficiency``.

    Examples
    --------
    >>> table = make_blade(5, n_nodes=300, shape=True)
    >>> table["split"].tolist()
    ['train', 'train', 'train', 'train', 'test']
    >>> table.columns[-3:].tolist()
    ['thickness_hub', 'thickness_mid', 'thickness_tip']
    """
    return _table("blade", n_samples, **options)


def make_capacitor(n_samples: int = 100, **options: Unpack[MakeOptions]) -> pd.DataFrame:
    """Make pairs of charged conductors inside a grounded circle: Laplace's equation on linear triangles.

    Parameters
    ----------
    n_samples : int
    **options
        ``n_nodes``, ``random_state``, ``random_topology``, ``test_fraction``, ``shape``, ``n_jobs`` and ``progress``
        as for `make_tensile2d`, with 2500 nodes by default. All meshes have cells of their own; with `random_topology`
        also the spacing of nodes far from the conductors varies. The shape is ``gap, left_width, left_height,
        right_width, right_height, right_tilt, right_offset``.

    Returns
    -------
    table : pandas.DataFrame
        Columns ``mesh`` (`swwl.Mesh` objects with the field ``potential``), ``split``, then the input ``voltage`` (of
        the right conductor; the left one is at 1 V) and the targets ``charge_left, charge_right`` (per length, over the
        permittivity).

    Examples
    --------
    >>> make_capacitor(2, n_nodes=500).columns.tolist()
    ['mesh', 'split', 'voltage', 'charge_left', 'charge_right']
    """
    return _table("capacitor", n_samples, **options)


def make_channel(n_samples: int = 100, **options: Unpack[MakeOptions]) -> pd.DataFrame:
    """Make slow flows through a channel around one to four bodies: Navier-Stokes on linear triangles.

    Parameters
    ----------
    n_samples : int
    **options
        ``n_nodes``, ``random_state``, ``random_topology``, ``test_fraction``, ``shape``, ``n_jobs`` and ``progress``
        as for `make_tensile2d`, with 1500 nodes by default. All meshes have cells of their own; with `random_topology`
        also the spacing of nodes far from the bodies varies. The shape is ``bodies``, of which the whole part is their
        number, and ``x, y, length, thickness, tilt`` of four ellipses, each with its number behind it.

    Returns
    -------
    table : pandas.DataFrame
        Columns ``mesh`` (`swwl.Mesh` objects with the fields ``velocity``, of two components, and ``pressure``, and the
        groups ``inlet, outlet, walls, body``), ``split``, then the input ``viscosity`` and the targets ``drag, lift``
        of all bodies together; height of the channel, mean speed and density are one.

    Examples
    --------
    >>> table = make_channel(2, n_nodes=500)
    >>> table.columns.tolist(), list(table["mesh"][0].groups)
    (['mesh', 'split', 'viscosity', 'drag', 'lift'], ['inlet', 'outlet', 'walls', 'body'])
    """
    return _table("channel", n_samples, **options)


def make_samples(
    name: str,
    n_samples: int,
    *,
    n_nodes: int | None = None,
    random_state: int = 0,
    random_topology: bool = False,
    n_jobs: int | None = None,
    progress: Progress | None = None,
) -> list[Sample]:
    """Make samples of a generator by its name; each knows its mesh, all inputs, targets and redraws.

    Parameters
    ----------
    name : {"tensile2d", "airfoil", "blade", "capacitor"}
    n_samples, n_nodes, random_state, random_topology, n_jobs, progress
        As for `make_tensile2d`.

    Returns
    -------
    samples : list of Sample
        `swwl.as_graph` takes them.

    Examples
    --------
    >>> (sample,) = make_samples("blade", 1, n_nodes=500)
    >>> sample.mesh.points.shape, list(sample.scalars), sample.redraws
    ((504, 3), ['speed', 'pressure'], 0)
    """
    request = make_request(name, n_nodes, random_state, random_topology)
    return _samples(request, n_samples, n_jobs, progress)


def write_dataset(
    name: str,
    n_samples: int,
    folder: str | os.PathLike[str],
    *,
    test_fraction: float = 0.2,
    file_format: str = "vtu",
    n_jobs: int | None = None,
    force: bool = False,
    progress: Progress | None = None,
    **meshes: Unpack[MeshOptions],
) -> pd.DataFrame:
    """Make a data set in a folder: ``table.csv``, ``shape.csv``, ``about.json`` and ``meshes/``.

    A run that was interrupted, even killed, goes on where it stopped when it is started again, and a folder
    with fewer samples is added to; both end with the bytes of an unbroken run. A folder that holds anything
    else is refused.

    Parameters
    ----------
    name : {"tensile2d", "airfoil", "blade", "capacitor"}
    n_samples : int
    folder : path
    test_fraction, n_jobs, progress
        As for `make_tensile2d`.
    file_format : {"vtu", "npz"}
    force : bool
        Overwrite a folder that holds anything else: its tables and the meshes of the same names.
    **meshes
        ``n_nodes``, ``random_state`` and ``random_topology`` as for `make_tensile2d`.

    Returns
    -------
    table : pandas.DataFrame
        As `load_dataset` reads it, with the absolute paths of the meshes.

    Raises
    ------
    FileExistsError
        When the folder holds something else; nothing is touched then.
    OSError
        When the disk is too small.
    """
    request = make_request(name, **meshes)
    check_format(file_format)
    _check_sizes(n_samples, test_fraction, n_jobs)
    about = _about(request, n_samples, test_fraction, file_format)
    target = SampleFolder(folder, about, kind="generated", free=("test_fraction", "model"), grows=True, force=force)
    rows = target.rows_left(partial(_read_tables, target.path, file_format=file_format))
    check_disk(target.path, (n_samples - len(rows)) * request.n_nodes)
    # Processes of an earlier call may have started in another folder.
    finish = partial(_write_and_describe, folder=target.path.absolute(), file_format=file_format)

    def make(missing: list[int]) -> Iterator[Row]:
        return run(request, missing, finish, n_jobs)

    made = target.fill(rows, make, about | _redraws(rows.values()), progress)
    target.finish(_tables(made, test_fraction, file_format), about | _redraws(made))
    return load_dataset(folder)


def make_request(
    name: str, n_nodes: int | None = None, random_state: int = 0, random_topology: bool = False
) -> Request:
    """Check what is asked of a generator."""
    if name not in GENERATORS:
        raise InputError(f"There is no generator {name!r}; choose from {', '.join(GENERATORS)}.")
    generator = GENERATORS[name]
    return Request(generator, generator.n_nodes if n_nodes is None else n_nodes, random_state, random_topology)


def _samples(request: Request, n_samples: int, n_jobs: int | None, progress: Progress | None) -> list[Sample]:
    _check_sizes(n_samples, 0.0, n_jobs)
    samples = []
    for sample in run(request, list(range(n_samples)), _unchanged, n_jobs):
        samples.append(sample)
        if progress:
            progress(len(samples), n_samples)
    return samples


def _table(
    name: str,
    n_samples: int,
    test_fraction: float = 0.2,
    shape: bool = False,
    n_jobs: int | None = None,
    progress: Progress | None = None,
    **meshes: Unpack[MeshOptions],
) -> pd.DataFrame:
    """Put samples into a table with the columns that a folder's has."""
    request = make_request(name, **meshes)
    _check_sizes(n_samples, test_fraction, n_jobs)
    samples = _samples(request, n_samples, n_jobs, progress)
    inputs = pd.DataFrame([s.scalars | s.targets | (s.shape if shape else {}) for s in samples])
    inputs.insert(0, "mesh", pd.Series([sample.mesh for sample in samples], dtype=object))
    inputs.insert(1, "split", _splits(n_samples, test_fraction))
    return inputs


def _check_sizes(n_samples: int, test_fraction: float, n_jobs: int | None) -> None:
    if n_samples < 1:
        raise InputError(f"n_samples must be at least 1, found {n_samples}.")
    if not 0 <= test_fraction < 1:
        raise InputError(f"test_fraction must be at least 0 and below 1, found {test_fraction}.")
    check_jobs(n_jobs)


def _splits(n_samples: int, test_fraction: float) -> Sequence[str]:
    n_test = round(test_fraction * n_samples)
    return ["train"] * (n_samples - n_test) + ["test"] * n_test


def _about(request: Request, n_samples: int, test_fraction: float, file_format: str) -> Json:
    generator = request.generator
    return {
        "generator": generator.name,
        "model": generator.model,
        "version": __version__,
        "seed": int(request.random_state),
        "nodes": int(request.n_nodes),
        "random_topology": request.random_topology,
        "format": file_format,
        "n_samples": int(n_samples),
        "test_fraction": test_fraction,
        "scalars": {name: list(pair) for name, pair in generator.scalars.items()},
        "shape": {name: list(pair) for name, pair in generator.shape.items()},
        "targets": list(generator.targets),
    }


def _redraws(rows: Iterable[Row]) -> Json:
    """Count how often samples had to be drawn again, in all and for each sample concerned."""
    counts = {str(row["index"]): row["redraws"] for row in rows if row["redraws"]}
    return {"redrawn": sum(counts.values()), "redraws": counts}


def _write_and_describe(sample: Sample, folder: Path, file_format: str) -> Row:
    sample.mesh.write(folder / mesh_name(sample.index, file_format))
    return {
        "index": sample.index,
        "redraws": sample.redraws,
        "scalars": sample.scalars,
        "shape": sample.shape,
        "targets": sample.targets,
    }


def _read_tables(folder: Path, about: Json, file_format: str) -> dict[int, Row]:
    """Rows of a finished data set, exact to the last digit; refuse tables that someone has changed since."""
    if not (folder / "table.csv").exists() or not (folder / "shape.csv").exists():
        return {}
    try:
        table, shapes, redraws = read_csv(folder / "table.csv"), read_csv(folder / "shape.csv"), about["redraws"]
        rows = [
            {
                "index": i,
                "redraws": redraws.get(str(i), 0),
                "scalars": {name: entry[name] for name in about["scalars"]},
                "shape": {name: drawn[name] for name in about["shape"]},
                "targets": {name: entry[name] for name in about["targets"]},
            }
            for i, (entry, drawn) in enumerate(zip(table, shapes, strict=True))
        ]
        tables = _tables(rows, about["test_fraction"], file_format)
    except (AttributeError, KeyError, TypeError, ValueError):  # a column or a row is missing, a cell is not a number
        rows, tables = [], {"table.csv": [{}]}
    for name, ours in tables.items():
        check_unchanged(folder / name, ours)
    return dict(enumerate(rows))


def _tables(rows: Sequence[Row], test_fraction: float, file_format: str) -> dict[str, list[Row]]:
    """Return what ``table.csv`` and ``shape.csv`` hold."""
    meshes = [mesh_name(row["index"], file_format) for row in rows]
    splits = _splits(len(rows), test_fraction)
    return {
        "table.csv": [
            {"mesh": mesh, "split": split} | row["scalars"] | row["targets"]
            for mesh, split, row in zip(meshes, splits, rows, strict=True)
        ],
        "shape.csv": [{"mesh": mesh} | row["shape"] for mesh, row in zip(meshes, rows, strict=True)],
    }


def _unchanged(sample: Sample) -> Sample:
    return sample
