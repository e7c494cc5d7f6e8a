"""Columns that look like results of the simulation: known of cases that were simulated, not of a new one.

A model that learns a target from other results scores wonderfully and is of no use. Names and numbers together tell:
inputs are spread as designs of experiments are, evenly or over a few levels, and do not depend on each other, however
much the target follows one of them; results depend on several inputs and on each other. None of this is certain, so
that columns are named in a warning, and the user settles it.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Collection, Mapping, Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from swwl.errors import ColumnWarning
from swwl.tables.columns import as_numbers, kind_of, numbers_cases

# Words that name results and hardly ever inputs; those that name either, but not loads, such as power; and what stands
# beside the name of a result, of which spreads are hardly ever known of an input.
_RESULTS = frozenset(
    "lift drag cl cd cm cz mises vm disp displ displacement displacements deflection freq eigenfreq eigenfrequency "
    "eigenfrequencies eigenvalue efficiency massflow compliance residual residuals".split()
)
_PERHAPS = frozenset(
    "stress strain energy frequency reaction loss losses drop gain error objective result output response damage "
    "life".split()
)
_SPREADS = frozenset("std stdev stddev variance rms quantile percentile".split())
_STATISTICS = _SPREADS.union(
    "max min mean avg average peak total final maximum minimum largest median integral".split()
)
_QUANTILE = re.compile(r"_[pq]?9[59]$")
# Words that name inputs: with one of these, a name says nothing of a result.
_INPUTS = frozenset(
    "yield applied inlet inflow initial nominal prescribed input load loads material ultimate boundary ambient design "
    "param parameter x force pressure speed velocity thickness length width height depth radius diameter angle "
    "incidence alpha aoa beta density modulus young youngs poisson viscosity mach re reynolds area volume mass chord "
    "span hardening exponent rate conductivity friction ratio size count number seed time rpm".split()
)
# Words of what a run notes about itself.
_NOTES = frozenset(
    "cpu wall walltime runtime elapsed iteration iterations iter iters niter residual residuals converged convergence "
    "cores memory".split()
)
# Relations, from 0 to 1, with the target or a result from which on a column may be one: with a hint, with the name of a
# statistic or dependences on several others, and without any; the last are one to one.
_RELATED, _CLOSE, _ALIKE, _SAME = 0.5, 0.7, 0.9, 1 - 1e-6
# Fewer rows tell nothing about ranks, and these enough that none is out of place by chance; so few different values are
# the levels of a design; neighbors on either side.
_FEWEST_ROWS, _ENOUGH, _MOST_LEVELS, _BESIDE = 10, 20, 10, 3
# Of so few columns that are not results by their names, none are too many that depend on others.
_FEW_FREE = 4
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
    aims = {str(name): as_numbers(targets[name]) for name in targets.columns}
    everything = _rank_correlations(aims | numeric)
    beyond_chance = 3.0 / np.sqrt(max(len(inputs), 1))
    found = {}
    for name, values in numeric.items():
        said = None if _is_one_of_a_series(name, list(numeric)) else _result_word(name)
        others = max((float(everything.loc[name, other]) for other in everything if other != name), default=0.0)
        related = max(others, _most_related(name, values, aims, everything)[1])
        if said and not _has_levels(values) and (related > beyond_chance or not aims):
            found[name] = f"its name says {said!r}"
    known = aims | {name: numeric[name] for name in found}
    free = {name: values for name, values in numeric.items() if name not in found}
    named = {name for name, values in free.items() if _has_levels(values) or _names_input(name)}
    hints = {name: _hint(name, list(aims)) for name in free if name not in named}
    behind, among = _behind(list(numeric), list(aims), order), _behind(list(hints), list(known), order, named)
    among &= {name for name, hint in hints.items() if hint}
    hints |= {name: "it comes after the target column" for name, hint in hints.items() if name in behind and not hint}
    ranks = _rank_correlations(free | known)
    odd = {name for name in hints if not _is_designed(free[name])}
    needs = _dependences(ranks.loc[list(free), list(free)], hints, odd, len(inputs))
    # Where most columns depend on each other, inputs were not drawn independently, and it says nothing of any of them.
    together = len(free) > _FEW_FREE and 2 * _n_independent(ranks.loc[list(free), list(free)], len(inputs)) < len(free)
    for name, hint in hints.items():
        nearest, relation = _most_related(name, free[name], known, ranks)
        how = "rank correlation" if nearest and relation <= ranks.loc[name, nearest] else "along a curve,"
        words = f"it is correlated with {nearest} ({how} {relation:.2f})"
        drawn, one_to_one = _is_drawn(free[name]), relation >= _SAME
        if hint and not known and (name in needs or name in odd):
            found[name] = hint
        elif hint and relation >= _RELATED and (name in needs or name in odd or (name in among and not drawn)):
            found[name] = f"{hint}, and {words}"
        elif hint and relation >= _CLOSE and not drawn and (_says_statistic(name) or one_to_one):
            found[name] = f"{hint}, and {words}"
        elif relation >= _CLOSE and not drawn and len(needs.get(name, ())) > 1 and not together:
            found[name] = f"{words}, and depends on {listed(needs[name])}"
        elif relation >= _ALIKE and name in odd and name in needs and not together:
            found[name] = f"{words}, and is not spread as inputs are"
        elif (
            one_to_one and not drawn and len(inputs) >= _ENOUGH and bool((ranks.loc[list(free), nearest] < _SAME).any())
        ):
            found[name] = f"{words}, whatever the others are"
    return {name: found[name] for name in numeric if name in found}


def warn_about_columns(table: pd.DataFrame, targets: pd.DataFrame, stacklevel: int = 2) -> None:
    """Warn of columns that number the cases or look like results, where a model learns from all columns of a table."""
    inputs = table.drop(columns=targets.columns, errors="ignore")
    if inputs.columns.has_duplicates:
        return
    rows = [str(name) for name in inputs.columns if numbers_cases(inputs[name])]
    if rows:
        warnings.warn(
            f"{listed(rows)} number{'s' * (len(rows) == 1)} the cases, which says nothing about a new one: drop "
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
    'columns vm99 and energy look like results of the same simulation, which are not known for a new case'
    """
    if len(names) > 1:
        return f"{listed(names)} look like results of the same simulation, which are not known for a new case"
    return f"{listed(names)} looks like a result of the same simulation, which is not known for a new case"


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


def _behind(
    inputs: Sequence[str], results: Sequence[str], order: Sequence[str], before: Collection[str] = ()
) -> set[str]:
    """Return the inputs that stand behind all results, if there are inputs before these too.

    Given inputs that are known to be some, ``before``, those that stand behind these and the first of the results.
    """
    at = {str(name): place for place, name in enumerate(order)}
    placed = [at[name] for name in results if name in at]
    if not placed or not any(at.get(name, max(placed)) < min(placed) for name in [*inputs, *before]):
        return set()
    last = max([min(placed), *(at.get(name, -1) for name in before)]) if before else max(placed)
    return {name for name in inputs if at.get(name, -1) > last}


def _result_word(name: str) -> str | None:
    words = words_of(name)
    if _INPUTS.intersection(words):
        return None
    return next((word for word in words if word in _RESULTS), None)


def may_be_input(name: str) -> bool:
    """Whether a name says nothing of a result, nor of what a run notes about itself: for lists that are advice.

    >>> [may_be_input(name) for name in ("U", "inlet_pressure", "pressure_drop", "dp", "cpu_s", "n_iterations")]
    [True, True, False, False, False, False]
    """
    words = words_of(name)
    return not (_RESULTS | _PERHAPS | _NOTES | {"dp"}).intersection(words)


def _is_one_of_a_series(name: str, names: Sequence[str]) -> bool:
    """Whether a name of two letters counts on from others, so that it says nothing.

    >>> _is_one_of_a_series("cd", ["ca", "cb", "cc", "cd"]), _is_one_of_a_series("cd", ["cl", "cd", "cm"])
    (True, False)
    """
    if len(name) != 2:
        return False
    others = {other for other in names if len(other) == 2 and other[0] == name[0] and other[1].isalpha()}
    return len(others - _RESULTS) > 1


def _statistic(name: str) -> str | None:
    """Return what in a name says a statistic of something.

    >>> _statistic("p_std"), _statistic("pressure_99"), _statistic("max")
    ('std', '99', None)
    """
    words = words_of(name)
    quantile = _QUANTILE.search(name)
    said = next((word for word in words if word in _STATISTICS), None) if len(words) > 1 else None
    return said or (quantile.group().lstrip("_") if quantile and words else None)


def _names_input(name: str) -> bool:
    """Whether a name is one of inputs; a statistic, such as that of a pressure, may be of either."""
    return bool(_INPUTS.intersection(words_of(name))) and not _statistic(name)


def _says_statistic(name: str) -> bool:
    """Whether a name says a statistic that is hardly ever known of an input.

    >>> [_says_statistic(name) for name in ("p_max", "pressure_std", "mean_velocity")]
    [True, True, False]
    """
    words, said = words_of(name), _statistic(name)
    return said is not None and not (_INPUTS.intersection(words) and said in _STATISTICS - _SPREADS)


def _hint(name: str, targets: Sequence[str]) -> str | None:
    """Say what in a name hints at a result."""
    words = words_of(name)
    said = next((word for word in words if word in _PERHAPS), None) or _statistic(name)
    if said:
        return f"its name says {said!r}"
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
    return _evenness(known) < 1.36 / np.sqrt(len(known)) + 0.02


def _is_drawn(values: NDArray[np.float64]) -> bool:
    """Whether a column (N,), or its logarithm, is more even than chance makes it, as designs are."""
    known = values[np.isfinite(values)]
    n = len(known)
    return n < _FEWEST_ROWS or _evenness(known) < max(1.9, 0.35 * np.sqrt(n)) / n


def _evenness(values: NDArray[np.float64]) -> float:
    """Return Kolmogorov's distance of numbers (N,) or their logarithms from an even spread over their range."""
    n = len(values)
    steps = np.arange(n + 1) / n
    found = 1.0
    for numbers in (values, np.log(values)) if (values > 0).all() else (values,):
        spread = np.ptp(numbers)
        if spread == 0:
            return 0.0
        ordered = np.sort((numbers - numbers.min()) / spread)
        found = min(found, max(np.abs(ordered - steps[1:]).max(), np.abs(ordered - steps[:-1]).max()))
    return float(found)


def _rank_correlations(columns: dict[str, NDArray[np.float64]]) -> pd.DataFrame:
    """Return absolute rank correlations of columns with each other; 0 where too few rows have both."""
    table = pd.DataFrame(columns).replace([np.inf, -np.inf], np.nan)
    return table.corr("spearman", min_periods=_FEWEST_ROWS).abs().fillna(0.0)


def _most_related(
    name: str, values: NDArray[np.float64], known: dict[str, NDArray[np.float64]], ranks: pd.DataFrame
) -> tuple[str, float]:
    """Return which of the results goes best with a column, up or down with it or along a curve, and how well."""
    found = {other: max(float(ranks.loc[name, other]), _along_a_curve(those, values)) for other, those in known.items()}
    nearest = max(found, key=found.__getitem__, default="")
    return nearest, found.get(nearest, 0.0)


def _along_a_curve(first: NDArray[np.float64], second: NDArray[np.float64]) -> float:
    """Return how well the ranks of a column (N,) are told by those of rows that are next to it in another, 0 to 1.

    >>> x = np.linspace(-1, 1, 50)
    >>> round(_along_a_curve(x, x**2), 2), _along_a_curve(x, np.random.default_rng(0).random(50))
    (1.0, 0.0)
    """
    both = np.isfinite(first) & np.isfinite(second)
    if both.sum() < max(_FEWEST_ROWS, 4 * _BESIDE) or np.ptp(second[both]) == 0:
        return 0.0
    _, place, count = np.unique(second[both], return_inverse=True, return_counts=True)
    order = np.argsort(first[both], kind="stable")
    ranks: NDArray[np.float64] = (np.cumsum(count) - (count - 1) / 2)[place][order]  # means where tied
    window = np.ones(2 * _BESIDE + 1)
    window[_BESIDE] = 0
    means = np.convolve(ranks, window, "same") / np.convolve(np.ones(len(ranks)), window, "same")
    return float(np.sqrt(max(0.0, 1 - float(np.mean((ranks - means) ** 2) / np.var(ranks)))))


def _linked(ranks: pd.DataFrame, n: int) -> pd.DataFrame:
    """Return which columns of n rows depend on each other by more than chance."""
    return ranks > 3.0 / np.sqrt(max(n, 1))


def _n_independent(ranks: pd.DataFrame, n: int) -> int:
    """Return how many columns are left once those that depend on most others have been left out.

    >>> ranks = pd.DataFrame([[1, 0, 0.7], [0, 1, 0.7], [0.7, 0.7, 1]], list("abc"), list("abc"))
    >>> _n_independent(ranks, 40), _n_independent(ranks * 0 + 1, 40)
    (2, 1)
    """
    linked = _linked(ranks, n).to_numpy(copy=True)
    np.fill_diagonal(linked, False)
    left = np.ones(len(linked), dtype=bool)
    while linked.any():
        most = int(linked.sum(axis=0).argmax())
        linked[most], linked[:, most], left[most] = False, False, False
    return int(left.sum())


def _dependences(
    ranks: pd.DataFrame, hints: Mapping[str, str | None], odd: Collection[str], n: int
) -> dict[str, list[str]]:
    """Return the columns to leave out so that the others do not depend on each other, with those each depends on.

    Inputs are drawn independently, and a result depends on several: the column that depends on most others by more
    than chance is left out first, until none does. Of two that depend on as many, the one with a hint, or that is
    ``odd`` for an input; without a hint, it is named only if something tells it from those that it depends on.

    Parameters
    ----------
    ranks : DataFrame
        Rank correlations of all columns.
    hints : mapping
        Of those that may be results.
    odd : collection of str
    n : int
        Number of rows.

    Examples
    --------
    >>> ranks = pd.DataFrame([[1, 0, 0.7], [0, 1, 0.7], [0.7, 0.7, 1]], list("abc"), list("abc"))
    >>> _dependences(ranks, dict.fromkeys("abc"), [], 40)
    {'c': ['a', 'b']}
    """
    linked = _linked(ranks, n)
    links = {str(name): {str(other) for other in ranks.columns[linked.loc[name]]} - {name} for name in ranks.index}
    found: dict[str, list[str]] = {}

    def weight(name: str) -> tuple[int, bool, bool]:
        return len(links[name]), hints[name] is not None, name in odd

    while left := [name for name in hints if links[name]]:
        most = max(left, key=weight)
        others = links.pop(most)
        links[most] = set()
        heaviest = len(others), hints[most] is not None, most in odd
        if hints[most] or all(weight(other) < heaviest for other in others if other in hints):
            found[most] = [name for name in map(str, ranks.columns) if name in others]
        for other in others:
            links[other].discard(most)
    return found
