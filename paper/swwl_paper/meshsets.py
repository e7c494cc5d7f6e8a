"""Data sets of meshes with results: made by the generators, as they are, coarsened by MMG, and cut down."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
from joblib import Parallel, delayed
from numpy.typing import NDArray

from swwl import datasets
from swwl.errors import InputError
from swwl.mesh import Graph, as_graph
from swwl_paper.study import Skipped, Study

# The first is the library's own; where a set holds shapes that so few nodes cannot follow, the next is taken for all.
TOLERANCES = (0.02, 0.05, 0.1, 0.2)

Loaded = tuple[pd.DataFrame, list[Graph]]


@dataclass(frozen=True)
class SetSize:
    """How large a generated data set is.

    Attributes
    ----------
    n_train, n_test : int
    nodes, coarse : int
        Of the meshes as generated, and of the coarsened ones.
    cut : (int, int, int), optional
        Training cases, test cases and nodes of the set that is cut down for kernels of exact transport.
    """

    n_train: int
    n_test: int
    nodes: int
    coarse: int
    cut: tuple[int, int, int] | None = None


@dataclass(frozen=True)
class Version:
    """A data set with one kind of meshes, not read yet.

    Attributes
    ----------
    dataset, meshes : str
        Such as "blade" and "coarsened".
    n_train, n_test : int
    scalars, targets : tuple of str
        Columns of the table.
    load : callable
        Returns the table and the graphs, in the same order; makes the data if need be.
    shuffled : bool
        Whether each seed draws training and test cases; otherwise they are the first and the next ones.
    one_topology : bool
        Whether node i means the same in all meshes.
    areas : bool
        Whether graphs carry the areas (or lengths) around their nodes.
    exact : bool
        Whether the set is small enough for exact transport.
    options : dict
        Of the embedding, such as ``scale``.
    """

    dataset: str
    meshes: str
    n_train: int
    n_test: int
    scalars: tuple[str, ...]
    targets: tuple[str, ...]
    load: Callable[[], Loaded]
    shuffled: bool = False
    one_topology: bool = False
    areas: bool = True
    exact: bool = False
    options: Mapping[str, Any] = field(default_factory=dict)

    def cases(self, n: int, seed: int) -> NDArray[np.intp]:
        """Return which of n cases are used: ``n_train`` to learn from, then ``n_test`` to predict.

        Examples
        --------
        >>> version = Version("blade", "full", 2, 1, (), ("y",), load=lambda: (pd.DataFrame(), []))
        >>> version.cases(4, seed=7).tolist()
        [0, 1, 2]
        """
        wanted = self.n_train + self.n_test
        if n < wanted:
            raise InputError(f"{self.dataset} ({self.meshes}) has {n} cases, but {wanted} are needed.")
        order = np.random.default_rng([seed, n]).permutation(n) if self.shuffled else np.arange(n)
        return order[:wanted]


def generated(study: Study, name: str, size: SetSize) -> list[Version]:
    """Return the versions of a generated data set: full, coarsened and, where the size has one, cut down."""
    generator = datasets.GENERATORS[name]
    scalars, targets = tuple(generator.scalars), tuple(generator.targets)
    total = size.n_train + size.n_test

    def full() -> Loaded:
        table = made(study, name, total, size.nodes)
        return table, read(study, table, name)

    def coarsened() -> Loaded:
        table = coarser(study, made(study, name, total, size.nodes), name, size.coarse)
        return table, read(study, table, name)

    versions = [
        Version(name, "full", size.n_train, size.n_test, scalars, targets, full, one_topology=name == "blade"),
        Version(name, "coarsened", size.n_train, size.n_test, scalars, targets, coarsened),
    ]
    if size.cut is not None:
        n_train, n_test, nodes = size.cut

        def cut_down() -> Loaded:
            table = coarser(study, made(study, name, total, size.nodes), name, size.coarse)
            # The first of the training cases and the first of the test cases of the whole set.
            chosen = [*range(n_train), *range(size.n_train, size.n_train + n_test)]
            table = coarser(study, table.iloc[chosen].reset_index(drop=True), name, nodes, TOLERANCES[1:])
            return table, read(study, table, name)

        versions.append(Version(name, "cut down", n_train, n_test, scalars, targets, cut_down, exact=True))
    return versions


def made(study: Study, name: str, n: int, nodes: int, *, random_topology: bool = False) -> pd.DataFrame:
    """Make a data set, or find it made by this or another experiment, and return its first n rows."""
    folder = study.work("data", f"{name}-{nodes}{'-random' * random_topology}-seed{study.seed}")
    about = folder / "about.json"
    found = json.loads(about.read_text(encoding="utf-8")).get("n_samples", 0) if about.exists() else 0
    return datasets.write_dataset(
        name,
        max(n, found),
        folder,
        n_nodes=nodes,
        random_state=study.seed,
        random_topology=random_topology,
        file_format="npz",
        n_jobs=study.n_jobs,
        progress=study.progress(f"{name}: simulations"),
    ).iloc[:n]


def coarser(
    study: Study, table: pd.DataFrame, name: str, nodes: int, tolerances: Sequence[float] = TOLERANCES
) -> pd.DataFrame:
    """Coarsen all meshes of a table to about the same number of nodes."""
    complaint = ""
    for tolerance in tolerances:
        folder = study.work("data", f"{name}-{len(table)}-coarsened-{nodes}-{tolerance:g}-seed{study.seed}")
        if (folder / "failed.txt").exists():
            continue
        try:
            return datasets.coarsen_dataset(
                table,
                folder,
                nodes,
                tolerance=tolerance,
                file_format="npz",
                n_jobs=study.n_jobs,
                progress=study.progress(f"{name}: coarsening to {nodes} nodes"),
            )
        except ImportError as error:
            raise Skipped(str(error)) from None
        except ValueError as error:
            complaint = str(error)
            study.say(f"{name}: {complaint}")
            (folder / "failed.txt").write_text(complaint + "\n", encoding="utf-8")
    raise Skipped(f"the meshes cannot be coarsened to {nodes} nodes ({complaint})")


def read(study: Study, table: pd.DataFrame, name: str) -> list[Graph]:
    """Read all meshes into graphs that carry the areas around their nodes; one topology is kept once."""
    progress = study.progress(f"{name}: reading meshes")
    tasks = (delayed(as_graph)(mesh, node_weights="area") for mesh in table["mesh"])
    graphs: list[Graph] = []
    for graph in Parallel(n_jobs=study.n_jobs, prefer="threads", return_as="generator")(tasks):
        graphs.append(graph.sharing_topology(graphs[0]) if graphs else graph)
        if progress is not None:
            progress(len(graphs), len(table))
    return graphs


def mean_nodes(graphs: Sequence[Graph]) -> int:
    """Return the mean number of nodes, rounded."""
    return round(float(np.mean([graph.n_nodes for graph in graphs])))
