"""What a study is: ``STUDY.toml``, read and checked before anything runs."""

from __future__ import annotations

import difflib
import math
import re
import tomllib
from pathlib import Path

import msgspec

from swwl.errors import InputError, MissingFileError, located
from swwl.jobs.plan import KernelOptions
from swwl.jobs.study.runs import Command
from swwl.mesh.io.formats import READERS

# Columns of the table of cases that are not the user's; "row" is that of the pool.
OWN = ("case", "batch", "status", "why", "row", "seconds", "exit", "reason")
# What commands may name beside inputs.
PLACES = ("mesh", "out", "parameters", "python")
_UNITS = {"s": 1.0, "sec": 1.0, "min": 60.0, "h": 3600.0, "d": 86400.0}

Duration = str | float


class StudySource(msgspec.Struct, forbid_unknown_fields=True):
    """``[study]``: a table of candidates, unless there are parameters; its columns of meshes; the seed of all draws."""

    pool: str | None = None
    meshes: list[str] = []
    seed: int = 0


class Making(msgspec.Struct, forbid_unknown_fields=True):
    """``[make]``: the command that makes a mesh of parameters, and how many candidates it makes per batch."""

    run: str
    ending: str
    timeout: Duration | None = None
    candidates: int = 100
    shell: bool = False


class StudySolver(msgspec.Struct, forbid_unknown_fields=True):
    """``[solver]``: the command that simulates a case, where its answers are, and how many run at a time.

    Answers outside the range that ``valid`` gives of a target are a failure of the run.
    """

    run: str
    results: str = "results.csv"
    targets: list[str] = []
    valid: dict[str, tuple[float, float]] = {}
    jobs: int = 1
    timeout: Duration | None = None
    retries: int = 0
    shell: bool = False


class Goal(msgspec.Struct, forbid_unknown_fields=True):
    """``[goal]``: a target to make small or large, within bounds; without one, to learn."""

    minimize: str | None = None
    maximize: str | None = None
    at_most: dict[str, float] = {}
    at_least: dict[str, float] = {}
    criterion: str | None = None

    @property
    def target(self) -> str | None:
        """What is to be improved, or None."""
        return self.minimize or self.maximize

    @property
    def words(self) -> str:
        """The goal as :func:`swwl.design.suggest` reads it."""
        kind = "minimize" if self.minimize else "maximize"
        return f"{kind}:{self.target}" if self.target else "learn"

    @property
    def bounds(self) -> dict[str, tuple[float | None, float | None]]:
        """Lower and upper bounds by target."""
        return {name: (self.at_least.get(name), self.at_most.get(name)) for name in self.at_least | self.at_most}

    @property
    def said(self) -> str:
        """The goal for people."""
        texts = [self.words.replace(":", " ")]
        texts += [f"{name} at most {value:g}" for name, value in self.at_most.items()]
        texts += [f"{name} at least {value:g}" for name, value in self.at_least.items()]
        return ", ".join(texts)


class StudyBudget(msgspec.Struct, forbid_unknown_fields=True):
    """``[budget]``: runs, first and in all, so many at a time; when to stop before.

    ``stop_after`` batches that improve the best answer (to learn: the error of left-out cases) by no more than the
    share ``improvement`` end the study, and so does an expected improvement below the share ``expected`` of the best.
    """

    runs: int
    first: int
    batch: int = 5
    stop_after: int | None = None
    improvement: float = 0.01
    expected: float = 0.0


class ModelOptions(msgspec.Struct, forbid_unknown_fields=True):
    """``[model]``: options of ``swwl fit``."""

    inputs: list[str] | None = None
    kernel: str | None = None
    projections: int = 50
    quantiles: int | None = None
    iterations: int | None = None
    components: int | str | None = None
    group: str | None = None
    target_scale: str | dict[str, str] | None = None
    outliers: str = "auto"
    scaled: list[str] = []


class Study(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """A study as its file says: tables by their names, and ``[parameters]`` with their ranges."""

    solver: StudySolver
    budget: StudyBudget
    study: StudySource = msgspec.field(default_factory=StudySource)
    parameters: dict[str, tuple[float, float]] = {}
    make: Making | None = None
    goal: Goal = msgspec.field(default_factory=Goal)
    model: ModelOptions = msgspec.field(default_factory=ModelOptions)
    path: Path = Path()

    @property
    def here(self) -> Path:
        """The folder in which commands run: that of the file."""
        return self.path.absolute().parent

    @property
    def folder(self) -> Path:
        """Where everything is kept: a folder beside the file, named as it is."""
        return self.here / self.path.stem

    @property
    def targets(self) -> list[str]:
        """What is read of every run."""
        named = [self.goal.target] if self.goal.target else []
        return list(dict.fromkeys([*self.solver.targets, *named, *self.goal.bounds]))

    @property
    def command(self) -> Command:
        """The command that simulates a case."""
        own = self.solver
        return Command.read(own.run, self.here, own.shell, duration(own.timeout), "[solver] run")

    @property
    def make_command(self) -> Command | None:
        """The command that makes a mesh of parameters, if there is one."""
        own = self.make
        return None if own is None else Command.read(own.run, self.here, own.shell, duration(own.timeout), "[make] run")

    def kernel(self, has_meshes: bool) -> KernelOptions:
        """Return the kernel of the model."""
        own = self.model
        return KernelOptions(
            own.kernel or (None if has_meshes else "scalars"),
            n_projections=own.projections,
            n_quantiles=own.quantiles,
            n_iterations=own.iterations,
            n_components=own.components,
            group=own.group,
            seed=self.study.seed,
        )


def check_study(study: Study) -> None:
    """Refuse what contradicts itself."""
    if (study.study.pool is None) == (not study.parameters):
        raise InputError(
            "candidates come from a table, [study] pool, or from ranges, [parameters]: give one or the other."
        )
    if study.goal.minimize and study.goal.maximize:
        raise InputError("[goal] has minimize and maximize; one target can be improved, others have bounds.")
    if not study.targets:
        raise InputError("neither [solver] targets nor [goal] names a target; name what the results hold.")
    if Path(study.solver.results).suffix.lower() not in (".csv", ".json") or Path(study.solver.results).is_absolute():
        raise InputError(f"[solver] results is {study.solver.results!r}; expected a .csv or .json file in {{out}}.")
    _check_names(study)
    _check_counts(study)
    if study.make is not None:
        _check_make(study, study.make)


def _check_names(study: Study) -> None:
    for name, (low, high) in study.parameters.items():
        if not (math.isfinite(low) and math.isfinite(high) and low < high):
            raise InputError(f"[parameters] {name} goes from {low:g} to {high:g}; expected [low, high].")
    for name in [*study.parameters, *study.targets]:
        if name in OWN or name in PLACES:
            raise InputError(f"{name!r} is reserved in a study; rename it.")
    for name, (low, high) in study.solver.valid.items():
        if name not in study.targets:
            raise InputError(f"[solver] valid names {name!r}, but results are read for {', '.join(study.targets)}.")
        if not low < high:
            raise InputError(f"[solver] valid: {name} goes from {low:g} to {high:g}; expected [low, high].")
    if both := set(study.parameters) & set(study.targets):
        raise InputError(f"{both.pop()!r} is a parameter and a target.")


def _check_counts(study: Study) -> None:
    budget, solver = study.budget, study.solver
    found = {"[budget] runs": budget.runs, "[budget] first": budget.first, "[budget] batch": budget.batch}
    found |= {"[budget] stop_after": budget.stop_after or 1, "[solver] jobs": solver.jobs}
    for key, value in found.items():
        if value < 1:
            raise InputError(f"{key} is {value}; expected 1 or more.")
    if solver.retries < 0 or study.study.seed < 0:
        raise InputError("[solver] retries and [study] seed cannot be negative.")
    if budget.first > budget.runs:
        raise InputError(f"[budget] first is {budget.first}, more than all runs, {budget.runs}.")


def _check_make(study: Study, make: Making) -> None:
    if study.study.pool is not None:
        raise InputError("[make] makes meshes of [parameters], but the candidates come from [study] pool.")
    if not READERS.serves(Path(f"mesh{make.ending}")):
        raise InputError(f"[make] ending is {make.ending!r}, which is not the extension of a mesh format.")
    if make.candidates < study.budget.batch:
        raise InputError(f"[make] candidates is {make.candidates}, less than a batch of {study.budget.batch}.")


def read_study(path: Path) -> Study:
    """Read the file of a study; refuse what it does not say right.

    Parameters
    ----------
    path : path
        TOML, see ``docs/loop.md``.
    """
    if not path.is_file():
        raise MissingFileError(f"{path}: there is no such file; a study is described in TOML.")
    if path.suffix.lower() != ".toml":
        raise InputError(f"{path}: a study file ends in .toml; its results go into the folder without that ending.")
    try:
        said = tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: is not TOML ({error}).") from None
    with located(str(path)):
        _check_keys(said)
        try:
            study = msgspec.convert(said, Study)
        except msgspec.ValidationError as error:
            raise InputError(f"{_in_words(str(error))}.") from None
        study = msgspec.structs.replace(study, path=path)
        check_study(study)
        _ = study.command, study.make_command
    return study


def duration(given: Duration | None) -> float | None:
    """Return a time in seconds.

    Examples
    --------
    >>> duration("10 min"), duration(90), duration("1.5 h"), duration(None)
    (600.0, 90.0, 5400.0, None)
    """
    if given is None:
        return None
    found = re.fullmatch(r"\s*([0-9.]+)\s*([a-z]*)\s*", str(given))
    unit = _UNITS.get(found[2] or "s") if found else None
    try:
        value = float(found[1]) if found else 0.0
    except ValueError:
        value = 0.0
    if unit is None or value <= 0:
        raise InputError(f"timeout is {given!r}; expected a time such as '90 s', '10 min' or '2 h'.")
    return value * unit


def _check_keys(said: dict[str, object]) -> None:
    """Refuse keys that there are not, with the one that was probably meant."""
    tables: dict[str, type[msgspec.Struct]] = {
        "study": StudySource, "make": Making, "solver": StudySolver, "goal": Goal, "budget": StudyBudget,
        "model": ModelOptions,
    }  # fmt: skip
    for name in said:
        _check_key(name, [*tables, "parameters"], "")
    for name, kind in tables.items():
        own = said.get(name, {})
        for key in own if isinstance(own, dict) else ():
            _check_key(str(key), list(kind.__struct_fields__), f"[{name}] ")
    for name in ("solver", "budget"):
        if name not in said:
            raise InputError(f"has no table [{name}], which every study needs.")


def _check_key(key: str, known: list[str], place: str) -> None:
    if key in known:
        return
    near = difflib.get_close_matches(key, known, 1)
    hint = f"did you mean {near[0]}?" if near else f"it may have: {', '.join(known)}."
    raise InputError(f"{place}{key} is unknown; {hint}")


def _in_words(text: str) -> str:
    """Say where in a file something has the wrong type.

    >>> _in_words("Expected `int`, got `str` - at `$.budget.runs`")
    '[budget] runs: expected a whole number, got a text'
    >>> _in_words("Expected `array`, got `str` - at `$.parameters[...]`")
    '[parameters]: expected a list, got a text'
    """
    kinds = {"int": "a whole number", "float": "a number", "str": "a text", "array": "a list", "object": "a table"}
    text = re.sub("`(int|float|str|array|object)`", lambda found: kinds[found[1]], text.replace("[...]", ""))
    what, _, place = text.replace("`", "").partition(" - at $.")
    table, _, key = place.partition(".")
    where = f"[{table}] {key}".strip() if table else "the file"
    return f"{where}: {what[0].lower()}{what[1:]}"
