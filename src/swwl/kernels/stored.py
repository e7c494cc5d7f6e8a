"""What settles the embeddings of a store: factors fitted to a sample of meshes, in a file beside the shards."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from swwl.embedding.stores.sampled import Kept, keep, learn
from swwl.embedding.stores.store import BASIS, Store
from swwl.errors import InputError
from swwl.kernels.base import Factor
from swwl.storage.checks import Sizes, check_declared, restored
from swwl.storage.memory import Memory, fingerprint
from swwl.storage.modelfile import load_model, save_model, storable

# Of factors, what does not change what is kept of meshes.
_OTHERWISE = ("n_components", "n_jobs", "memory")


def recipe(factor: Factor) -> str:
    """Return a name for what a factor keeps of meshes: the same for all that keep the same.

    Examples
    --------
    >>> from swwl.kernels import Components
    >>> recipe(Components("mesh", n_components=3)) == recipe(Components("mesh", n_components=8, n_jobs=2))
    True
    >>> recipe(Components("mesh")) == recipe(Components("mesh", n_quantiles=99))
    False
    """
    params = {name: value for name, value in factor.get_params(deep=False).items() if name not in _OTHERWISE}
    if params.get("group") is None:
        params.pop("group", None)  # stores are older than groups
    return fingerprint(type(factor).__name__, [[name, _plain(params[name])] for name in sorted(params)])


def _plain(value: object) -> Any:
    return list(value) if isinstance(value, (list, tuple)) else value


@storable
@dataclass
class Basis:
    """Fitted factors on columns of meshes.

    Parameters
    ----------
    key : str
        What they were made with and of, see :func:`swwl.jobs.embed.basis_key`.
    columns : dict of str to list of Factor
    bad : dict of str to str
        Meshes of the sample that could not be used, and why.
    """

    key: str
    columns: dict[str, list[Factor]]
    bad: dict[str, str]

    def get_state(self) -> Basis:
        """Return what it is made of, for a file."""
        return self

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> Basis:
        """Make it again of what :meth:`get_state` returned."""
        basis = restored(cls, state)
        for factors in basis.columns.values():
            for factor in factors:
                check_declared(factor, Sizes(**factor.known_sizes()))
        return basis

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write it to a file."""
        save_model(path, self)

    def keep(
        self, column: str, paths: Sequence[Path], numbers: Sequence[int], memory: Memory, n_jobs: int
    ) -> list[Kept]:
        """Return what is kept of some meshes of a column, for each of its factors."""
        factors = self.columns[column]
        for factor in factors:
            factor.embedding_.n_jobs = n_jobs
        return keep([factor.embedding_ for factor in factors], factors, paths, numbers, memory)


def fit_basis(key: str, columns: dict[str, list[Any]], samples: dict[str, dict[int, Path]], skip_bad: bool) -> Basis:
    """Fit factors to the samples of their columns.

    Parameters
    ----------
    key : str
    columns : dict of str to list of Factor
        Not fitted yet.
    samples : dict of str to dict of int to path
        Meshes of every column by their rows.
    skip_bad : bool
        Whether to leave out meshes that cannot be used, rather than to refuse them.
    """
    bad: dict[str, str] = {}
    for name, factors in columns.items():
        sample = dict(samples[name])
        while True:
            try:
                learn([factor.start() for factor in factors], factors, list(sample.values()), list(sample))
                break
            except InputError as error:
                if not skip_bad or error.item is None or error.item not in sample or len(sample) < 2:
                    raise
                path = sample[error.item]
                bad[str(path)] = str(error)
                sample = {row: file for row, file in sample.items() if file != path}
    return Basis(key, columns, bad)


@lru_cache(maxsize=4)
def read_basis(path: Path, stamp: int) -> Basis:
    """Return the basis of a file, once for every ``stamp``: the time of its last change."""
    found = load_model(path)
    if not isinstance(found, Basis):
        raise InputError(f"{path}: holds a model, but the basis of a store is expected.")
    return found


def basis_of(folder: Path) -> Basis:
    """Return the basis of a store."""
    path = folder / BASIS
    return read_basis(path, path.stat().st_mtime_ns if path.exists() else 0)


def keep_stored(store: Store, read: Any, name: str, factors: Sequence[Any]) -> list[Kept]:
    """Settle factors by the basis of a store; return what it keeps of the meshes of a column.

    Parameters
    ----------
    store : Store
    read : callable
        Takes the name of a column, returns it.
    name : str
    factors : sequence of Factor
    """
    basis = basis_of(store.folder)
    known = {recipe(factor): place for place, factor in enumerate(basis.columns.get(name, []))}
    places = []
    for factor in factors:
        factor.check()
        place = known.get(recipe(factor))
        if place is None:
            made = ", ".join(map(repr, basis.columns.get(name, []))) or "nothing"
            raise InputError(
                f"{store.folder} does not hold what {factor!r} needs: it was made for {made}. Run swwl embed with the "
                f"options of the fit."
            )
        factor.adopt(basis.columns[name][place])
        places.append(place)
    return store.gather(name, list(read(name)), places)


@dataclass(frozen=True)
class Embeddings:
    """What a store holds for one measure of the meshes of a column.

    Attributes
    ----------
    column : str
    embedding : SWWLEmbedding or SummaryEmbedding
        As fitted to a sample of the meshes; it embeds others.
    paths : list of path
        Of the N meshes that could be embedded.
    coordinates : ndarray of shape (N, K), float32
        Of their rows on the components of the sample: their distances are those of the rows, but for what is left.
    left : ndarray of shape (N,)
        The norm of what the coordinates leave of each row.
    """

    column: str
    embedding: Any
    paths: list[Path]
    coordinates: NDArray[np.float32]
    left: NDArray[np.float64]
    _factor: Any = field(repr=False)

    def transform(self, X: object, **options: Any) -> NDArray[np.float32]:
        """Return the coordinates of other meshes, (M, K), as those of the store were made.

        Parameters
        ----------
        X, **options
            As :meth:`swwl.SWWLEmbedding.transform` takes them.
        """
        kept: NDArray[np.float32] = self._factor.coordinates(self.embedding.transform(X, **options))[0]
        return kept


def read_embeddings(folder: str | os.PathLike[str]) -> list[Embeddings]:
    """Read a store that ``swwl embed`` made.

    Parameters
    ----------
    folder : str or path

    Returns
    -------
    list of Embeddings
        One for every measure of every column of meshes: one in all with ``--kernel principal``, several with ``auto``.
    """
    store = Store(folder)
    found = []
    for column, factors in basis_of(store.folder).columns.items():
        paths = store.meshes(column)
        kept = store.gather(column, paths, range(len(factors)))
        found += [Embeddings(column, f.embedding_, paths, *own, f) for f, own in zip(factors, kept, strict=True)]
    return found


def stored(folder: str | os.PathLike[str], read: Any) -> Any:
    """Return what :func:`swwl.kernels.shared.fit_kernels` takes as ``sampled``: a store in place of meshes."""
    return partial(keep_stored, Store(folder), read)
