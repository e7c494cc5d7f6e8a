"""One case: the user's command with its values, in a folder of its own, until it answers, fails or takes too long.

Values never become words of a command: without a shell each is (part of) one argument, with one it is a variable that
the shell puts in place itself.
"""

from __future__ import annotations

import contextlib
import csv
import json
import math
import os
import re
import secrets
import shlex
import shutil
import signal
import subprocess
import sys
import time
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from swwl.errors import InputError
from swwl.mesh.io import read_mesh
from swwl.storage.atomic import atomic_write

FINAL = ("done", "failed", "timeout")
_PLACE = re.compile(r"\{\{|\}\}|\{([^{}]*)\}")
# So much of a file of results is read, and of the last line of what a solver says.
_MOST_RESULTS, _MOST_SAID = 1_000_000, 160
_TAIL = 4096
# Squares of larger answers could not be computed with.
_LARGEST = 1e100
# By which processes of a study and of a run are known, also when whoever started them is gone.
_STUDY, _OUT = "SWWL_STUDY", "SWWL_OUT"
_at_work: set[subprocess.Popen[bytes]] = set()


class Command(NamedTuple):
    """A command of the user with places for values, and how long it may take.

    Attributes
    ----------
    text : str
    here : path
        The folder it runs in.
    shell : bool
        Whether a shell reads it.
    timeout : float or None
        In seconds.
    key : str
        Where the user wrote it.
    """

    text: str
    here: Path
    shell: bool = False
    timeout: float | None = None
    key: str = "run"

    @classmethod
    def read(cls, text: str, here: Path, shell: bool, timeout: float | None, key: str) -> Command:
        """Check that the text can be split into words."""
        found = cls(text, here, shell, timeout, key)
        if not found._split():
            raise InputError(f"{key} is empty.")
        return found

    def _split(self) -> list[str]:
        try:
            return shlex.split(self.text)
        except ValueError as error:
            raise InputError(f"{self.key} is {self.text!r}, which is not a command ({error}).") from None

    def words(self, values: Mapping[str, str]) -> tuple[list[str], dict[str, str]]:
        """Return the words to run, and variables of the environment that they need.

        Examples
        --------
        >>> Command("solve --mesh={mesh}", Path()).words({"mesh": "a; rm b.vtu"})
        (['solve', '--mesh=a; rm b.vtu'], {})
        >>> Command("solve {mesh} > log", Path(), shell=True).words({"mesh": "a; rm b.vtu"})
        (['/bin/sh', '-c', 'solve "${SWWL_V0}" > log'], {'SWWL_V0': 'a; rm b.vtu'})
        """
        if not self.shell:
            words = [_PLACE.sub(lambda found: self._value(found, values), word) for word in self._split()]
            return [self._program(words[0]), *words[1:]], {}
        variables: dict[str, str] = {}

        def put(found: re.Match[str]) -> str:
            value = self._value(found, values)
            if found[1] is None:
                return value
            quote = _quote_at(self.text, found.start())
            if quote == "'":
                raise InputError(f"{self.key}: {found[0]} is between single quotes, where a shell does not expand it.")
            name = f"SWWL_V{len(variables)}"
            variables[name] = value
            return f"${{{name}}}" if quote else f'"${{{name}}}"'

        text = _PLACE.sub(put, self.text)
        return ["/bin/sh", "-c", text], variables

    def _value(self, found: re.Match[str], values: Mapping[str, str]) -> str:
        if found[1] is None:
            return found[0][0]
        name = found[1].strip()
        if name not in values:
            known = ", ".join(f"{{{one}}}" for one in values)
            raise InputError(f"{self.key} has {{{name}}}, which is unknown; it may have {known}.")
        if "\0" in values[name]:
            raise InputError(f"{self.key}: the value of {name!r} holds a NUL, which no command can be given.")
        return values[name]

    def _program(self, word: str) -> str:
        return str(self.here / word) if "/" in word or os.sep in word else word

    def check(self, values: Mapping[str, str], programs: bool = True) -> list[str]:
        """Return the words to run for values; refuse a program that is not there, unless ``programs`` are elsewhere."""
        words, _ = self.words(values)
        if programs and shutil.which(words[0]) is None:
            word = self._split()[0]
            beside = (self.here / word).is_file()
            why = "is not executable (chmod +x)" if "/" in word and beside else "is not found"
            hint = f"; did you mean ./{word}?" if beside and "/" not in word else ""
            raise InputError(f"{self.key}: the program {word!r} {why}{hint}")
        return words


def _quote_at(text: str, place: int) -> str:
    """Return the quote inside which a place of a shell command lies, or nothing.

    >>> _quote_at('echo "a b" ', 11), _quote_at('echo "a ', 8)
    ('', '"')
    """
    quote, k = "", 0
    while k < place:
        letter = text[k]
        if letter == "\\" and quote != "'":
            k += 1
        elif letter in "'\"" and quote in ("", letter):
            quote = "" if quote else letter
        k += 1
    return quote


class RunTask(NamedTuple):
    """A run: its number, the folder that it leaves, its command and values, what it answers, and how often to try.

    Nothing but texts and numbers, so that it can travel to another machine that sees the same folders.
    """

    case: int
    folder: Path
    command: Command
    values: dict[str, str]
    inputs: dict[str, float | str]
    results: str
    targets: list[str]
    retries: int
    study: Path
    valid: dict[str, tuple[float, float]] = {}


class RunOutcome(NamedTuple):
    """What became of a run."""

    status: str
    seconds: float
    code: int | None
    reason: str
    answers: dict[str, float]


def simulate(task: RunTask) -> RunOutcome:
    """Run a case, and leave its folder whole: until it has ended, it has another name.

    Whatever the solver does, there is an outcome.
    """
    found = RunOutcome("failed", 0.0, None, "never started", {})
    for _ in range(task.retries + 1):
        out = task.folder.with_name(f"{task.folder.name}.part-{secrets.token_hex(3)}")
        try:
            out.mkdir(parents=True)
            found = _attempt(task, out)
            shutil.rmtree(task.folder, ignore_errors=True)
            out.replace(task.folder)
        except OSError as error:
            found = RunOutcome("failed", found.seconds, None, _clean(f"{error.strerror or error}"), {})
        if found.status == "done":
            break
    return found


def _attempt(task: RunTask, out: Path) -> RunOutcome:
    inputs = out / "inputs.json"
    inputs.write_text(json.dumps(task.inputs, indent=1), encoding="utf-8")
    values = task.values | {"out": str(out), "parameters": str(inputs)}
    started = time.monotonic()
    variables = {_STUDY: str(task.study), "SWWL_CASE": str(task.case), "SWWL_MESH": task.values.get("mesh", "")}
    try:
        code = run_command(task.command, values, out, variables)
    except (InputError, OSError) as error:
        return RunOutcome("failed", 0.0, None, _clean(f"could not be started: {error}"), {})
    seconds = time.monotonic() - started
    if code is None:
        return RunOutcome("timeout", seconds, None, f"took longer than {task.command.timeout:g} s", {})
    if code != 0:
        how = f"exit code {code}" if code > 0 else f"ended by signal {-code}"
        said = last_line(out, task.folder)
        return RunOutcome("failed", seconds, code, f"{how}: {said}" if said else how, {})
    try:
        answers = read_answers(out / task.results, task.targets)
        check_valid(answers, task.valid)
    except InputError as error:
        return RunOutcome("failed", seconds, code, _clean(str(error)), {})
    return RunOutcome("done", seconds, code, "", answers)


def run_command(command: Command, values: Mapping[str, str], out: Path, variables: Mapping[str, str]) -> int | None:
    """Run a command until it ends or its time is over; return its exit code, or None.

    What it says goes into ``stdout.log`` and ``stderr.log`` of the folder ``out``. Whatever it started and left behind
    is ended with it.
    """
    words, more = command.words(values)
    environment = os.environ | dict(variables) | more | {_OUT: str(out)}
    with (out / "stdout.log").open("wb") as said, (out / "stderr.log").open("wb") as complained:
        process = subprocess.Popen(
            words,
            cwd=command.here,
            stdin=subprocess.DEVNULL,
            stdout=said,
            stderr=complained,
            env=environment,
            start_new_session=True,
        )
        _at_work.add(process)
        try:
            return process.wait(command.timeout)
        except subprocess.TimeoutExpired:
            return None
        finally:
            _end_group(process)
            if process.poll() is None:
                process.kill()
            process.wait()
            _at_work.discard(process)
            end_marked(_OUT, out)


def _end_group(process: subprocess.Popen[bytes]) -> None:
    """End what a process started, itself included."""
    if hasattr(os, "killpg"):
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)


def end_runs(study: Path) -> None:
    """End all solvers of a study on this machine, also those that a killed loop left behind (where there is /proc)."""
    for process in list(_at_work):
        _end_group(process)
    end_marked(_STUDY, study)


def end_marked(name: str, value: Path) -> None:
    """End the processes that were started with a variable of the environment, whichever group they are in now."""
    mark = f"{name}={value}".encode()
    for entry in Path("/proc").glob("[0-9]*/environ"):
        with contextlib.suppress(OSError):  # not ours, or gone
            if mark in entry.read_bytes().split(b"\0") and int(entry.parent.name) != os.getpid():
                os.kill(int(entry.parent.name), signal.SIGKILL)


def read_answers(path: Path, targets: list[str]) -> dict[str, float]:
    """Read targets by name: from the first row of a CSV file under its names, or from an object of JSON.

    Parameters
    ----------
    path : path
    targets : list of str
        Each must be there, and a finite number.
    """
    name = path.name
    if not path.is_file():
        raise InputError(f"wrote no {name}")
    if path.stat().st_size > _MOST_RESULTS:
        raise InputError(f"{name} has {path.stat().st_size} bytes; a name and a number per target are expected")
    try:
        text = path.read_text(encoding="utf-8-sig")
        rows = csv.DictReader(text.splitlines(), skipinitialspace=True)
        found = json.loads(text) if path.suffix.lower() == ".json" else next(rows, {})
    except (OSError, ValueError, csv.Error, RecursionError) as error:
        raise InputError(f"{name} cannot be read ({error})") from None
    if not isinstance(found, dict):
        raise InputError(f"{name} holds no object of names and numbers")
    said = {str(key).strip(): value for key, value in found.items()}
    answers = {}
    for target in targets:
        if target not in said:
            raise InputError(f"{name} has no {target!r}")
        value = said[target]
        try:
            answer = math.nan if isinstance(value, bool) else float(value)
        except (TypeError, ValueError):
            answer = math.nan
        if not abs(answer) < _LARGEST:
            raise InputError(f"{name} says {str(value)[:40]!r} for {target!r}; a finite number is expected")
        answers[target] = answer
    return answers


def check_valid(answers: Mapping[str, float], valid: Mapping[str, tuple[float, float]]) -> None:
    """Refuse answers outside the ranges that are possible.

    >>> check_valid({"mass": -7.0, "stress": 2.0}, {"mass": (0.0, 1e3), "stress": (0.0, math.inf)})
    Traceback (most recent call last):
    ...
    swwl.errors.InputError: mass is -7, outside what is valid, 0 to 1000
    """
    for name, (low, high) in valid.items():
        if name in answers and not low <= answers[name] <= high:
            raise InputError(f"{name} is {answers[name]:g}, outside what is valid, {low:g} to {high:g}")


def last_line(folder: Path, known_as: Path) -> str:
    """Return the last line that a solver wrote to standard error or, without one, to standard output.

    The folder is called by the name that it will have.
    """
    for name in ("stderr.log", "stdout.log"):
        with (folder / name).open("rb") as file:
            file.seek(max(0, file.seek(0, os.SEEK_END) - _TAIL))
            lines = [line for line in file.read().decode("utf-8", "replace").splitlines() if line.strip()]
        if lines:
            return _clean(lines[-1].replace(str(folder), str(known_as)))
    return ""


def _clean(text: str) -> str:
    """Return a text as one short line without control characters."""
    words = " ".join(re.sub(r"\x1b\[[0-9;]*m", "", text).split())
    return "".join(letter for letter in words if letter.isprintable())[:_MOST_SAID]


class MakeTask(NamedTuple):
    """A mesh to make: its file, and the command with its parameters."""

    mesh: Path
    command: Command
    inputs: dict[str, float | str]
    study: Path


def make_mesh(task: MakeTask) -> str:
    """Make a mesh, whole or not at all; return why it could not be made, or nothing.

    A mesh that is there already is not made again, and neither is one that could not be made.
    """
    failure = task.mesh.with_suffix(".failed")
    if task.mesh.exists():
        return ""
    if failure.exists():
        return failure.read_text(encoding="utf-8")
    out = task.mesh.with_name(f"{task.mesh.stem}.part-{secrets.token_hex(3)}")
    out.mkdir(parents=True)
    (out / "inputs.json").write_text(json.dumps(task.inputs, indent=1), encoding="utf-8")
    own = out / task.mesh.name
    values = {"mesh": str(own), "parameters": str(out / "inputs.json")} | plain_values(task.inputs)
    reason = ""
    try:
        code = run_command(task.command, values, out, {_STUDY: str(task.study)})
        if code is None:
            reason = f"took longer than {task.command.timeout:g} s"
        elif code != 0:
            reason = f"exit code {code}: {last_line(out, task.mesh.parent)}"
        else:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                read_mesh(own)
            own.replace(task.mesh)
    except (InputError, OSError) as error:
        reason = _clean(str(error).replace(str(out), str(task.mesh.parent)))
    if reason:
        with atomic_write(failure) as file:
            file.write(reason.encode())
    shutil.rmtree(out, ignore_errors=True)
    return reason


def plain_values(inputs: Mapping[str, float | str], case: int = 0) -> dict[str, str]:
    """Return the values that every command may name: the inputs of a case, its number, and Python itself."""
    return {name: str(value) for name, value in inputs.items()} | {"case": str(case), "python": sys.executable}
