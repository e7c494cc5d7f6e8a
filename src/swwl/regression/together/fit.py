"""From a table with levels of fidelity, or with targets of which cells are missing, to one fitted regressor."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from swwl.errors import InputError
from swwl.regression.together.chain import (
    CHANCE,
    GAIN,
    Helped,
    HelperRows,
    as_asked,
    chance_of_gain,
    check_fidelity,
    free_name,
    helped,
    left_out_errors,
    part_of,
    preferred,
    scale_of,
    twins,
)
from swwl.regression.together.joined import joined
from swwl.regression.together.levels import FEWEST_ROWS, Fidelity, read_levels
from swwl.tables.inputs import split_targets
from swwl.tables.laws import read_laws

if TYPE_CHECKING:
    from swwl.regression.estimator import RobustGPRegressor

Array = NDArray[np.float64]

# Helpers that are tried for a target, those first that go with it most.
_MOST_HELPERS = 2
# A helper is known in so many more rows than the target, over the rows of the target.
_LEAST_MORE = 0.25


@dataclass
class Chain:
    """Models that help each other.

    Attributes
    ----------
    parts : list of RobustGPRegressor
        Of single targets, or of levels of fidelity; helpers come before those they help.
    helpers : list of int
        The place of the helper of every part, -1 where there is none.
    told : list of Helped
        What helpers bring.
    level : str or None
        The column of levels of fidelity.
    best : str or None
        The level that is predicted.
    """

    parts: list[RobustGPRegressor]
    helpers: list[int]
    told: list[Helped]
    level: str | None = None
    best: str | None = None

    def names(self) -> list[str]:
        """Return the levels of fidelity, the best last; nothing of targets."""
        return [] if self.level is None else [*(one.helper for one in self.told), str(self.best)]

    def table(self) -> pd.DataFrame:
        """Return what helpers bring, a row each."""
        names = list(Helped.__dataclass_fields__)
        return pd.DataFrame([asdict(one) for one in self.told], columns=names)


def fit_together(
    model: RobustGPRegressor, table: pd.DataFrame, y: Any, fidelity: Fidelity | None, **options: Any
) -> bool:
    """Fit a model of levels of fidelity, or of targets with missing cells; return False where there are neither."""
    check_together(model.targets_together)
    model.chain_ = None
    if fidelity is not None:
        fit_levels(model, table, y, fidelity, **options)
    elif missing_cells(table, y):
        fit_targets(model, table, y, **options)
    else:
        return False
    return True


def check_together(together: bool | str) -> None:
    """Refuse another word than "auto".

    Examples
    --------
    >>> check_together("maybe")
    Traceback (most recent call last):
    ...
    swwl.errors.InputError: targets_together must be "auto", True or False, not 'maybe'.
    """
    if not (together == "auto" or isinstance(together, bool)):
        raise InputError(f'targets_together must be "auto", True or False, not {together!r}.')


def missing_cells(table: pd.DataFrame, y: Any) -> bool:
    """Whether several targets are given, and cells of some are missing.

    Examples
    --------
    >>> table = pd.DataFrame({"a": [1.0, None], "b": [1.0, 2.0]})
    >>> missing_cells(table, ["a", "b"]), missing_cells(table, "a"), missing_cells(table, table[["a", "b"]])
    (True, False, True)
    """
    if isinstance(y, (list, tuple)) and len(y) > 1 and all(isinstance(name, str) and name in table for name in y):
        y = table[list(y)]
    if not (isinstance(y, pd.DataFrame) or (isinstance(y, np.ndarray) and y.ndim == 2)) or y.shape[1] < 2:
        return False
    return bool(pd.DataFrame(y).isna().to_numpy().any())


def fit_levels(model: RobustGPRegressor, table: pd.DataFrame, y: Any, fidelity: Fidelity, **options: Any) -> None:
    """Fit the answers of the best level, with those of cheaper ones where they help.

    Parameters
    ----------
    model : RobustGPRegressor
        To be fitted.
    table : DataFrame
    y : str, Series or array
        The target.
    fidelity : str or mapping
        See :func:`swwl.regression.together.levels.read_levels`.
    **options
        For the fits.
    """
    targets, names, _ = split_targets(table, y)
    check_fidelity(model, names, options.get("embeddings"))
    levels = read_levels(table, fidelity)
    inputs = table.drop(columns=[*names, levels.column], errors="ignore")
    parts: list[RobustGPRegressor] = []
    helpers: list[int] = []
    told: list[Helped] = []
    for i, (level, rows) in enumerate(zip(levels.names, levels.rows, strict=True)):
        own, values = inputs.iloc[rows], pd.Series(targets[rows, 0], index=inputs.index[rows], name=names[0])
        if np.ptp(values.to_numpy()) == 0:
            raise InputError(f"Target {names[0]!r} is constant in all {len(rows)} rows of level {level!r}.")
        part = part_of(model, names, names[0]).set_params(scaled=model.scaled).fit(own, values, **options)
        helper = -1
        if i:
            before, column = parts[-1], free_name(f"{names[0]}, {levels.names[i - 1]}", list(inputs.columns))
            known = twins(before, own, options.get("memory"))
            given = (part, before, own, values, known, column)
            with_it, both = helped(*given, same=True, **options), (level, levels.names[i - 1])
            one = _judged(model, part, with_it, both, len(before.train_targets_), 1.0)
            if one.used:
                with_it = preferred(with_it, *given, same=True, **options)
                one = _judged(model, part, with_it, both, len(before.train_targets_), 1.0)
            told.append(one)
            part, helper = (with_it, i - 1) if one.used else (part, -1)
        parts.append(part)
        helpers.append(helper)
    for part in parts:
        as_asked(part, model.calibrate)
    adopt(model, parts[-1])
    model.n_features_in_ = inputs.shape[1]
    model.chain_ = Chain(parts, helpers, told, levels.column, levels.names[-1])


def _judged(
    model: RobustGPRegressor,
    alone: RobustGPRegressor,
    with_it: RobustGPRegressor,
    names: tuple[str, str],
    n: int,
    chance: float = CHANCE,
) -> Helped:
    """Say by rows left out what a helper, the second of two names, fitted to n rows, brings to the first.

    With a probability of ``chance`` at most, it seems to help without doing so; 1 for what is known to be related.
    """
    link, scale = with_it.stack_.link, scale_of(alone)
    assert link is not None
    errors, without = left_out_errors(with_it, alone, scale), left_out_errors(alone, with_it, scale)
    error, plain = (float(np.sqrt(np.mean(own**2))) for own in (errors, without))
    helps = error <= (1 - GAIN) * plain and chance_of_gain(without, errors) <= chance
    used = model.targets_together is not False and (model.targets_together is True or helps)
    words = "" if scale.is_identity else scale.words
    return Helped(*names, len(with_it.train_targets_), n, link.slope, plain, error, words, used)


def adopt(model: RobustGPRegressor, part: RobustGPRegressor) -> None:
    """Give a model all that another one has learned."""
    for name in ("stack_", "target_names_", "n_features_in_", "train_targets_", "laws_", "selection_", "candidates_"):
        setattr(model, name, getattr(part, name))
    model.outliers_, model.metadata_ = part.outliers_, {}


def fit_targets(model: RobustGPRegressor, table: pd.DataFrame, y: Any, **options: Any) -> None:
    """Fit several targets, each to the rows where it is known, helped by one of which more is known.

    Parameters are those of :func:`fit_levels`.
    """
    if options.get("embeddings") is not None:
        raise InputError("Targets with missing cells and stored embeddings cannot be combined: the meshes are read.")
    if model.share_ranges:
        raise InputError("share_ranges=True needs targets without missing cells.")
    targets, names = _targets(table, y)
    known = np.isfinite(targets)
    inputs = table.drop(columns=names, errors="ignore")
    numbers = inputs.select_dtypes("number").columns.astype(str)
    laws = read_laws(model.scaled, names, list(numbers)) if model.scaled else [None] * len(names)
    parts: dict[int, RobustGPRegressor] = {}
    helpers: dict[int, int] = {}
    told: list[Helped] = []
    for t in np.argsort(-known.sum(axis=0), kind="stable").tolist():
        rows = np.flatnonzero(known[:, t])
        own, values = inputs.iloc[rows], pd.Series(targets[rows, t], index=inputs.index[rows], name=names[t])
        law = laws[t]
        template = part_of(model, names, names[t])
        template.set_params(regimes="one", scaled=None if law is None else {names[t]: law.formula})
        parts[t], helpers[t] = template.fit(own, values, **options), -1
        tried = []
        for h in _candidates(targets, known, t, list(parts)) if model.targets_together is not False else []:
            column = free_name(names[h], list(inputs.columns))
            at = HelperRows(targets[rows, h], _places(known[:, h])[rows])
            given = (parts[t], parts[h], own, values, at, column)
            with_it = helped(*given, **options)
            one = _judged(model, parts[t], with_it, (names[t], names[h]), int(known[:, h].sum()))
            tried.append((one.error_together, h, with_it, one, given))
        if tried:
            _, h, with_it, one, given = min(tried, key=lambda found: found[0])
            if one.used:
                with_it = preferred(with_it, *given, **options)
                one = _judged(model, parts[t], with_it, (names[t], names[h]), int(known[:, h].sum()))
            told.append(one)
            if one.used:
                parts[t], helpers[t] = with_it, h
    for part in parts.values():
        as_asked(part, model.calibrate)
    order = list(parts)
    stack = joined([parts[t].stack_ for t in range(len(names))], names, inputs, known)
    model.stack_, model.target_names_, model.n_features_in_ = stack, names, inputs.shape[1]
    model.train_targets_, model.metadata_ = targets, {}
    places = {t: i for i, t in enumerate(order)} | {-1: -1}
    model.chain_ = Chain([parts[t] for t in order], [places[helpers[t]] for t in order], told)
    gather(model, model.chain_, known)


def _targets(table: pd.DataFrame, y: Any) -> tuple[Array, list[str]]:
    """Return targets (N, k), NaN where cells are missing, and their names; refuse those of which too few are known."""
    if isinstance(y, (list, tuple)):
        y = table[list(y)]
    frame = pd.DataFrame(y, index=table.index if isinstance(y, np.ndarray) else None)
    names = [str(name) for name in frame.columns] if isinstance(y, pd.DataFrame) else [f"y{k}" for k in frame.columns]
    found = np.full((len(table), len(names)), np.nan)
    for k, name in enumerate(names):
        values = frame.iloc[:, k]
        rows = np.flatnonzero(values.notna().to_numpy())
        if len(rows) < FEWEST_ROWS:
            where = "all rows" if not len(rows) else f"all but {len(rows)} of {len(table)} rows"
            raise InputError(
                f"Target {name!r} is missing in {where}; at least {FEWEST_ROWS} values are needed to learn from."
            )
        found[rows, k] = split_targets(table.iloc[rows], values.iloc[rows])[0][:, 0]
    return found, names


def _places(known: NDArray[np.bool_]) -> NDArray[np.intp]:
    """Return for every row which of the known ones it is, -1 where it is not."""
    return np.where(known, np.cumsum(known) - 1, -1).astype(np.intp)


def _candidates(targets: Array, known: NDArray[np.bool_], t: int, before: Sequence[int]) -> list[int]:
    """Return the targets that may help target t, those first that go with it most where both are known."""
    found = []
    for h in before:
        more, both = known[:, h] & ~known[:, t], known[:, h] & known[:, t]
        if h == t or more.sum() < _LEAST_MORE * known[:, t].sum():
            continue
        ranks = pd.DataFrame(targets[both][:, [t, h]]).rank().to_numpy()
        spread = ranks.std(axis=0).min() if both.sum() >= FEWEST_ROWS else 0.0
        found.append((-abs(np.corrcoef(ranks.T)[0, 1]) if spread > 0 else 0.0, h))
    return [h for _, h in sorted(found)[:_MOST_HELPERS]]


def gather(model: RobustGPRegressor, chain: Chain, known: NDArray[np.bool_]) -> None:
    """Give a model of several targets what was said of each."""
    parts = {part.target_names_[0]: part for part in chain.parts}
    ordered = [parts[name] for name in model.target_names_]
    model.laws_ = [law for part in ordered for law in part.laws_]
    tables = [part.candidates_ for part in ordered if len(part.candidates_)]
    model.candidates_ = pd.concat(tables, ignore_index=True) if tables else pd.DataFrame()
    model.selection_ = pd.concat([part.selection_ for part in ordered], ignore_index=True)
    outliers = []
    for k, part in enumerate(ordered):
        places = np.flatnonzero(known[:, k])
        outliers.append(part.outliers_.assign(position=places[part.outliers_["position"].to_numpy(np.intp)]))
    model.outliers_ = pd.concat(outliers)
