"""What the user gave is wrong (`InputError`), and what the user should know (warnings).

A mistake is raised where it is found, with what was found and what was expected. On its way up, whoever knows more
about its place (which graph, column, file, line) adds that with :func:`located`; the type stays the same, also through
threads and processes. Any other exception is a bug of ours.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager


class InputError(ValueError):
    """Something that the user gave is wrong; the message says what was found, what was expected and where.

    Attributes
    ----------
    item : int or None
        Which entry of a list or a column it was, counted from 0, if it was one.

    Examples
    --------
    >>> error = InputError("The graph has no nodes; at least one is needed.")
    >>> str(error.of_item(3, "Graph 3").within("Column 'mesh'"))
    "Column 'mesh', graph 3: The graph has no nodes; at least one is needed."
    """

    item: int | None = None
    _inside: tuple[str, ...] = ()
    _around: tuple[str, ...] = ()
    _continues = False

    @property
    def places(self) -> tuple[str, ...]:
        """Where it was found, the widest place first."""
        if len(self._around) < 2:
            return (*self._around, *self._inside)
        *wider, name = self._around
        return (", ".join([*wider, name[0].lower() + name[1:]]), *self._inside)

    def within(self, place: str) -> InputError:
        """Add a wider place, and return the error itself."""
        if self._around:
            self._around = (place, *self._around)
        else:
            self._inside = (place, *self._inside)
        return self

    def of_item(self, item: int, name: str, *, continues: bool = False) -> InputError:
        """Add which entry of a list or a column it was; ``continues`` where the message goes on after its name.

        >>> str(InputError("has 3 features, but fit saw 2.").of_item(4, "Graph 4", continues=True))
        'Graph 4 has 3 features, but fit saw 2.'
        """
        self.item, self._around, self._continues = item, (name,), continues
        return self

    def named(self, name: str) -> InputError:
        """Say which item it was in words that the user knows better, such as the line of a table.

        >>> error = InputError("the file is empty.").within("a.vtu").of_item(4, "Graph 4").within("Column 'mesh'")
        >>> str(error.named("table.csv: line 6"))
        'table.csv: line 6: a.vtu: the file is empty.'
        """
        self._around = ()
        return self.within(name)

    def __str__(self) -> str:
        places, message = [*self.places], super().__str__()
        if self._continues:
            message = f"{places.pop()} {message}"
        return ": ".join([*places, message])


class InputTypeError(InputError, TypeError):
    """Something of a type that cannot be used."""


class MissingFileError(InputError, FileNotFoundError):
    """A file or folder that does not exist."""


class MissingPackageError(InputError, ImportError):
    """Something that needs a package which is not installed; the message says how to install it."""


@contextmanager
def located(place: str) -> Iterator[None]:
    """Add a place to the mistakes that are found inside.

    Examples
    --------
    >>> with located("blade.vtu"):
    ...     raise InputError("the file is empty.")
    Traceback (most recent call last):
    ...
    swwl.errors.InputError: blade.vtu: the file is empty.
    """
    try:
        yield
    except InputError as error:
        error.within(place)
        raise


class GPWarning(UserWarning):
    """A fit that ended, but at a place that deserves a look before it is trusted."""


class OutlierWarning(UserWarning):
    """Training rows that the others do not explain, and that hardly count; ``outliers="keep"`` counts them in full."""


class ClusterWarning(UserWarning):
    """A cluster that answers, but where nobody works yet."""


class LawWarning(UserWarning):
    """A law that was given for a target, but with which left-out training rows are predicted worse: it is not used."""


class IndefiniteKernelWarning(UserWarning):
    """A Gaussian process with a kernel that is not positive definite."""


class FoldWarning(UserWarning):
    """Folds that could not be made as the rule says."""


class MeshWarning(UserWarning):
    """A mesh that can be used, but not as well as the others."""


class LeftOutWarning(MeshWarning):
    """A mesh of which something is left out; the command line tells it in its own words."""


class LooseNodesWarning(LeftOutWarning):
    """A mesh with nodes that belong to no cell, which are left out."""


class OddCellsWarning(LeftOutWarning):
    """A mesh with cells that have no area or volume, or that it has twice, which are left out."""


class PlaneMeshWarning(LeftOutWarning):
    """Meshes one cell thick, which are learned as plane meshes: their thickness is left out."""


class CaseWarning(UserWarning):
    """A case whose prediction may not be trusted as those of the training cases: unlike them, or out of their range."""


class ColumnWarning(UserWarning):
    """Columns that a model learns from by default, although they look like results or only number the cases."""


class StorageWarning(UserWarning):
    """Results that could not be kept for the next run, or had to be made again."""
