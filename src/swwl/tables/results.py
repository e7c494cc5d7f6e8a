"""Columns that look like results of the simulation: known of cases that were simulated, not of a new one.

A model that learns a target from other results scores wonderfully and is of no use. Names and numbers together tell:
inputs are spread as designs of experiments are, evenly or over a few levels, and do not depend on each other; results
follow the target. None of this is certain, so that columns are named in a warning, and the user settles it.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.stats import rankdata

from swwl.errors import ColumnWarning
from swwl.tables.columns import as_numbers, kind_of, numbers_cases

# Words that name results and hardly ever inputs; those that name either; and what comes before the name of a result.
_RESULTS = frozenset(
    "lift drag cl cd cm cz mises vm disp displ displacement displacements deflection freq eigenfreq eigenfrequency "
    "eigenfrequencies eigenvalue efficiency massflow compliance residual residuals".split()
)
_PERHAPS = frozenset(
    "stress strain energy frequency reaction loss losses drop gain power torque moment temperature error objective "
    "result output response damage life".split()
)
_STATISTICS = frozenset("max min mean avg average rms peak total final maximum minimum p95 p99 largest".split())
# Words that name inputs: with one of these, a name says nothing of a result.
_INPUTS = frozenset(
    "yield applied inlet inflow initial nominal prescribed input load loads material ultimate boundary ambient design "
    "param parameter x force pressure speed velocity thickness length width height depth radius diameter angle "
    "incidence alpha aoa beta density modulus young youngs poisson viscosity mach re reynolds area volume mass chord "
    "span hardening exponent rate conductivity friction ratio size count number seed time rpm".split()
)
# A column with a hint in its name is a result from this rank correlation with a target on; one without from the other.
_RELATED, _ALIKE = 0.5, 0.9
# Fewer rows tell nothing about ranks; so few different values are the levels of a design.
_FEWEST_ROWS, _MOST_LEVELS = 10, 10
_UNIT = re.compile(r"[\[(]\s*([^\])]*?)\s*[\])]")


def result_columns(inputs: pd.DataFrame, targets: pd.DataFrame, order: Sequence[str] = ()) -> dict[str, str]:
    """Say which columns of numbers look like results of the simulation, and why.

    Parameters
    ----------
    inputs : DataFrame of N rows
        Columns that a model would learn from; those that do not hold numbers are passed over.
    targets : DataFrame of N rows
        May have no columns, where fields are learned.
    order : sequence of str, optional
        All columns of the table as they stand there: results often stand behind the target, where inputs are before it.

    Returns
    -------
    dict of str to str
        Names, and what made them look like results.

    Examples
    --------
    >>> load = np.linspace(1.0, 2.0, 20)
    >>> table = pd.DataFrame({"load": load, "vm99": load**3, "yield_stress": np.roll(load, 5)})
    >>> result_columns(table, pd.DataFrame({"max_disp": load**2}))
    {'vm99': "its name says 'vm'"}
    """
    numeric = {str(name): as_numbers(inputs[name]) for name in inputs.columns if kind_of(inputs[name]) == "numbers"}
    known = {str(name): as_numbers(targets[name]) for name in targets.columns}
    behind = _behind(list(numeric), list(known), order)
    found = {}
    for name, values in numeric.items():
        said = _result_word(name)
        if said and not _has_levels(values):
            found[name] = f"its name says {said!r}"
    known |= {name: numeric[name] for name in found}
    for name, values in numeric.items():
        if name in found or _INPUTS.intersection(words_of(name)) or _has_levels(values):
            continue
        hint = _hint(name, [str(target) for target in targets.columns])
        hint = hint or ("it stands behind the target" if name in behind else None)
        nearest, rank = _most_related(values, known)
        designed, depends = _is_designed(values), _depends(name, numeric, found)
        if hint and not known and (depends or not designed):
            found[name] = hint
        elif hint and rank >= _RELATED and (depends or not designed):
            found[name] = f"{hint}, and it goes with {nearest} (rank correlation {rank:.2f})"
        elif rank >= _ALIKE and depends and not designed:
            found[name] = f"it goes with {nearest} (rank correlation {rank:.2f}), and is not spread as inputs are"
    return {name: found[name] for name in numeric if name in found}


def warn_about_columns(table: pd.DataFrame, targets: pd.DataFrame, stacklevel: int = 2) -> None:
    """Warn of columns that number the cases or look like results, where a model learns from all columns of a table."""
    inputs = table.drop(columns=targets.columns, errors="ignore")
    if inputs.columns.has_duplicates:
        return
    rows = [str(name) for name in inputs.columns if numbers_cases(inputs[name])]
    if rows:
        warnings.warn(
            f"{listed(rows)} number{'s' * (len(rows) == 1)} the cases, which tells nothing of a new one: drop "
            f"{'it' if len(rows) == 1 else 'them'}, or name the columns to use by a kernel.",
            ColumnWarning,
            stacklevel=stacklevel + 1,
        )
    found = [name for name in result_columns(inputs, targets, list(table.columns)) if name not in rows]
    if found:
        warnings.warn(
            f"{results_words(found)}: drop {'it' if len(found) == 1 else 'them'}, or name the columns to use by a "
            f"kernel.",
            ColumnWarning,
            stacklevel=stacklevel + 1,
        )


def results_words(names: Sequence[str]) -> str:
    """Say that columns look like results.

    >>> results_words(["vm99", "energy"])
    'columns vm99 and energy look like results of the same simulation, which nobody knows of a new case'
    """
    look = "look like results" if len(names) > 1 else "looks like a result"
    return f"{listed(names)} {look} of the same simulation, which nobody knows of a new case"


def listed(names: Sequence[str]) -> str:
    """Return names of columns as people list them.

    >>> listed(["a", "b", "c"]), listed(["a"])
    ('columns a, b and c', 'column a')
    """
    if len(names) == 1:
        return f"column {names[0]}"
    return f"columns {', '.join(names[:-1])} and {names[-1]}"


def words_of(name: str) -> list[str]:
    """Return the words of a column's name in small letters, without its unit and its numbers.

    >>> words_of("maxVonMises_99 [MPa]"), words_of("freq1")
    (['max', 'von', 'mises'], ['freq'])
    """
    plain = re.sub(r"([a-z])([A-Z])", r"\1 \2", _UNIT.sub(" ", name))
    return [word.lower() for word in re.findall(r"[^\W\d_]+", plain)]


def _behind(inputs: Sequence[str], targets: Sequence[str], order: Sequence[str]) -> set[str]:
    """Return the inputs that stand behind all targets, if there are inputs before these too."""
    at = {str(name): place for place, name in enumerate(order)}
    placed = [at[name] for name in targets if name in at]
    if not placed or not any(at.get(name, max(placed)) < min(placed) for name in inputs):
        return set()
    return {name for name in inputs if at.get(name, -1) > max(placed)}


def _result_word(name: str) -> str | None:
    words = words_of(name)
    if _INPUTS.intersection(words):
        return None
    return next((word for word in words if word in _RESULTS), None)


def _hint(name: str, targets: Sequence[str]) -> str | None:
    """Say what in a name hints at a result."""
    words = words_of(name)
    for word in words:
        if word in _PERHAPS or (word in _STATISTICS and len(words) > 1):
            return f"its name says {word!r}"
    unit = _UNIT.search(name)
    for target in targets:
        own = words_of(target)
        if words and own and len(name) > 1 and (words[0] == own[0] or words[-1] == own[-1]):
            return f"its name is like {target}"
        other = _UNIT.search(target)
        if unit and other and unit.group(1) and unit.group(1) == other.group(1):
            return f"it has the unit of {target}"
    return None


def _has_levels(values: NDArray[np.float64]) -> bool:
    """Whether a column (N,) holds a few values, each several times, as a design of experiments does."""
    known = values[np.isfinite(values)]
    levels = np.unique(known)
    return len(levels) <= min(_MOST_LEVELS, len(known) // 2)


def _is_designed(values: NDArray[np.float64]) -> bool:
    """Whether a column (N,), or its logarithm, is spread evenly over its range or over a few levels."""
    known = values[np.isfinite(values)]
    if len(known) < _FEWEST_ROWS or _has_levels(values):
        return True
    return _is_even(known) or (bool((known > 0).all()) and _is_even(np.log(known)))


def _is_even(values: NDArray[np.float64]) -> bool:
    """Whether numbers (N,) may be drawn evenly from their range: Kolmogorov's distance is what chance makes it."""
    n, spread = len(values), np.ptp(values)
    if spread == 0:
        return True
    ordered = np.sort((values - values.min()) / spread)
    steps = np.arange(n + 1) / n
    distance = max(np.abs(ordered - steps[1:]).max(), np.abs(ordered - steps[:-1]).max())
    return bool(distance < 1.36 / np.sqrt(n) + 0.02)


def _most_related(values: NDArray[np.float64], others: dict[str, NDArray[np.float64]]) -> tuple[str, float]:
    """Return which of some columns has the largest rank correlation with one, and how large that is."""
    found = {name: _rank_correlation(values, other) for name, other in others.items() if other is not values}
    nearest = max(found, key=found.__getitem__, default="")
    return nearest, found.get(nearest, 0.0)


def _rank_correlation(first: NDArray[np.float64], second: NDArray[np.float64]) -> float:
    both = np.isfinite(first) & np.isfinite(second)
    if both.sum() < _FEWEST_ROWS or np.ptp(first[both]) == 0 or np.ptp(second[both]) == 0:
        return 0.0
    return float(abs(np.corrcoef(rankdata(first[both]), rankdata(second[both]))[0, 1]))


def _depends(name: str, numeric: dict[str, NDArray[np.float64]], results: dict[str, str]) -> bool:
    """Whether a column depends on other inputs by more than chance."""
    others = {other: values for other, values in numeric.items() if other != name and other not in results}
    n = int(np.isfinite(numeric[name]).sum())
    return _most_related(numeric[name], others)[1] > 3.0 / np.sqrt(max(n, 1))
