"""One experiment under way: its size, where it writes, and the line that says where its numbers come from."""

from __future__ import annotations

import datetime
import importlib.metadata
import json
import os
import platform
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import pandas as pd

import swwl
from swwl.errors import InputError
from swwl.storage.atomic import atomic_write
from swwl_paper import SIZES
from swwl_paper.rows import RowFile

_LIBRARIES = ("numpy", "scipy", "scikit-learn", "pandas", "POT", "grakel", "torch", "mmgpy")
T = TypeVar("T")


class Skipped(Exception):
    """An experiment, or a part of it, cannot run here; the message says what it needs."""


class Study:
    """Where an experiment reads its size from and writes its results to.

    It leaves ``NAME.csv`` (tidy rows), ``NAME.md`` (what is printed), ``NAME.png`` and ``NAME.json`` (provenance) in
    its folder, and what only saves time in ``work/`` beneath it, which can be deleted.

    Parameters
    ----------
    name : str
        Of the experiment, such as "table4".
    size : {"small", "medium", "full"}
    folder : Path
    seed : int
        First seed of everything random.
    n_jobs : int
        Threads and processes; -1 is one per core.
    options : dict
        What narrows the experiment, such as ``{"dataset": ["BZR"]}``, which does not hinder going on with wider ones;
        ``{"reference": [path]}``, the file of R's answers for "rgasp"; and ``{"cache": [path]}``, a folder in place
        of ``work/``.
    command : str
        For the provenance.
    out : object with ``say``, ``table`` and ``progress``, optional
        What shows text and progress, as :class:`swwl.cli.console.Output` does; silent without.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     study = Study("table4", "small", Path(folder))
    ...     study.begin()
    ...     rows = study.rows(["kernel"])
    ...     rows.add({"kernel": "SWWL", "rmse": 0.1})
    ...     study.finish()
    ...     sorted(path.name for path in Path(folder).iterdir())
    ['table4.csv', 'table4.json']
    >>> study.pick({"small": 60, "medium": 200, "full": 1000})
    60
    """

    def __init__(
        self,
        name: str,
        size: str,
        folder: Path,
        *,
        seed: int = 0,
        n_jobs: int = -1,
        options: Mapping[str, Sequence[str]] | None = None,
        command: str = "",
        out: Any = None,
    ):
        if size not in SIZES:
            raise InputError(f"The size is {size!r}, but must be one of {', '.join(SIZES)}.")
        self.name, self.size, self.folder, self.seed, self.n_jobs = name, size, Path(folder), seed, n_jobs
        self.options = {key: list(values) for key, values in (options or {}).items()}
        self.command = command or f"swwl reproduce {name} --size {size}"
        self.out = out
        self._record: dict[str, Any] = {}

    # Size and choice

    def pick(self, sizes: Mapping[str, T]) -> T:
        """Return what belongs to this size."""
        return sizes[self.size]

    def chosen(self, option: str, known: Sequence[str]) -> list[str]:
        """Return the names that the user chose by an option, such as "dataset", or all of them."""
        wanted = self.options.get(option) or list(known)
        for name in wanted:
            if name not in known:
                raise InputError(f"{self.name} has no {option} {name!r}; choose from {', '.join(known)}.")
        return [name for name in known if name in wanted]

    # Results

    def path(self, suffix: str) -> Path:
        """Return the path of a result: the experiment's name and a suffix such as ".csv" or "-slopes.csv"."""
        return self.folder / f"{self.name}{suffix}"

    def work(self, *parts: str) -> Path:
        """Return a folder, made if need be, for what saves time when the experiment is run again."""
        cache = self.options.get("cache")
        folder = (Path(cache[0]) if cache else self.folder / "work").joinpath(*parts)
        folder.mkdir(parents=True, exist_ok=True)
        return folder

    def rows(self, keys: Sequence[str], suffix: str = ".csv") -> RowFile:
        """Return the rows that are done, to be added to."""
        return RowFile(self.path(suffix), keys)

    def show(self, title: str, table: pd.DataFrame, notes: str = "") -> None:
        """Print a table of texts and add it to the page ``NAME.md``."""
        if self.out is not None:
            self.out.table(title, list(table.columns), table.astype(str).to_numpy().tolist())
            if notes:
                self.say(notes)
        page = self._record.setdefault("_page", [])
        page.append(f"**{title}**\n\n{markdown(table)}\n" + (f"\n{notes}\n" if notes else ""))
        _write(self.path(".md"), "\n".join([*page, f"_{self.provenance()}_", ""]))

    def figure(self, figure: Any, suffix: str = ".png") -> Path:
        """Write a Matplotlib figure, with the line of provenance below it."""
        figure.text(0.995, -0.01, self.provenance(), ha="right", va="top", fontsize=5, color="0.45")
        path = self.path(suffix)
        with atomic_write(path) as file:
            options = {"dpi": 150, "bbox_inches": "tight", "pad_inches": 0.05, "metadata": {"Software": None}}
            figure.savefig(file, format=path.suffix[1:], **options)
        return path

    # Progress

    def say(self, text: str) -> None:
        """Print a line."""
        if self.out is not None:
            self.out.say(text)

    def progress(self, label: str) -> Callable[[int, Any], None] | None:
        """Return what shows the progress of a long step, called with the number done and the total; or None."""
        return None if self.out is None else self.out.progress(label)

    # Provenance

    def begin(self) -> None:
        """Make the folder and begin the record, or go on with the one that is there if it is of the same kind."""
        self.folder.mkdir(parents=True, exist_ok=True)
        path = self.path(".json")
        same = {"experiment": self.name, "size": self.size, "seed": self.seed}
        record: dict[str, Any] = {**same, "commands": [], "started": _today(), "finished": None}
        if path.exists():
            try:
                record = json.loads(path.read_text(encoding="utf-8"))
                found = {key: record[key] for key in same}
            except (ValueError, KeyError, TypeError):
                raise InputError(f"{path}: is not the record of an experiment; delete it to start again.") from None
            if found != same:
                raise InputError(
                    f"{self.folder}: holds {self.name} at size {found['size']!r} with seed {found['seed']}, but size "
                    f"{self.size!r} with seed {self.seed} was requested; name another folder."
                )
        record["finished"] = None
        if self.command not in record["commands"]:
            record["commands"].append(self.command)
        record |= {"versions": versions(), "machine": machine()}
        self._record = record
        self._save()

    def finish(self) -> None:
        """Note in the record that the experiment ran to its end."""
        self._record["finished"] = _today()
        self._save()

    def note(self, **settings: Any) -> None:
        """Add settings or measured facts to the record."""
        self._record.setdefault("settings", {}).update(settings)
        self._save()

    def _save(self) -> None:
        shown = {key: value for key, value in self._record.items() if not key.startswith("_")}
        _write(self.path(".json"), json.dumps(shown, indent=1) + "\n")

    def provenance(self) -> str:
        """Return one line: version, date, size, seed, machine and command."""
        size = machine()
        return (
            f"swwl {swwl.__version__}, {_today()}, size {self.size}, seed {self.seed}, {size['cores']} cores, "
            f"{size['memory_gib']} GiB: {self.command}"
        )


def markdown(table: pd.DataFrame) -> str:
    """Return a table in Markdown, the first column to the left and the others to the right.

    Examples
    --------
    >>> print(markdown(pd.DataFrame({"kernel": ["SWWL"], "RMSE": ["0.10"]})))
    | kernel | RMSE |
    |---|---:|
    | SWWL | 0.10 |
    """
    lines = ["| " + " | ".join(map(str, table.columns)) + " |"]
    lines.append("|---|" + "---:|" * (len(table.columns) - 1))
    lines += ["| " + " | ".join(map(str, row)) + " |" for row in table.to_numpy().tolist()]
    return "\n".join(lines)


def in_words(name: str) -> str:
    """Return a target's name as words of a title: ``in_words("max_von_mises")`` is "max von mises"."""
    return name.replace("_", " ")


def versions() -> dict[str, str]:
    """Return the versions of Python, swwl and the libraries that results depend on, where installed."""
    found = {"python": platform.python_version(), "swwl": swwl.__version__}
    for name in _LIBRARIES:
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return found


def machine() -> dict[str, Any]:
    """Return the size of this machine: system, processor family, usable cores, memory in GiB."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    memory = 0
    if hasattr(os, "sysconf") and "SC_PHYS_PAGES" in os.sysconf_names:
        memory = round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30)
    return {"system": sys.platform, "processor": platform.machine(), "cores": cores, "memory_gib": memory}


def _today() -> str:
    return datetime.datetime.now(datetime.UTC).date().isoformat()


def _write(path: Path, text: str) -> None:
    with atomic_write(path) as file:
        file.write(text.encode())
