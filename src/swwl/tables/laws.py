"""Laws that are known of a target, such as ``max_disp ~ force / young``: formulas of numeric columns, and their slopes.

A formula is read by Python's own parser and computed step by step, never run: columns, numbers, ``* / ** + -``,
parentheses and ``sqrt`` are all there is.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias
from unicodedata import normalize

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from swwl.errors import InputError
from swwl.tables.inputs import column

Array = NDArray[np.float64]
Laws: TypeAlias = str | Sequence[str] | Mapping[str, str]

_MOST_LETTERS = 500
# Squares of larger ratios overflow; ratios that differ by less are the same but for rounding.
_LARGEST, _SAME = 1e140, 1e-12
_BRACKET = re.compile(r"\s*(\[[^\[\]]*\]|\([^()]*(?:\([^()]*\)[^()]*)*\))$")
_KNOWN = "columns, numbers, + - * / **, parentheses and sqrt"


@dataclass(frozen=True)
class Law:
    """A formula that a target is learned over: the ratio of both is what is left to learn.

    Attributes
    ----------
    target : str
    formula : str
        As it was written.
    columns : dict of str to str
        Which column every name in the formula stands for.

    Examples
    --------
    >>> law = read_law("sag ~ force / young**2", ["sag"], ["force [N]", "young"])
    >>> law.columns
    {'force': 'force [N]', 'young': 'young'}
    >>> table = pd.DataFrame({"force [N]": [8.0, 4.0], "young": [2.0, 1.0]})
    >>> law.values(table).tolist()
    [2.0, 4.0]
    >>> {name: slope.tolist() for name, slope in law.slopes(table).items()}
    {'force [N]': [0.25, 1.0], 'young': [-2.0, -8.0]}
    """

    target: str
    formula: str
    columns: dict[str, str]

    @property
    def words(self) -> str:
        """The law as it is written for a command."""
        return f"{self.target} ~ {self.formula}"

    def values(self, table: pd.DataFrame) -> Array:
        """Return the formula of every row, (N,); refuse rows where it is not a positive number."""
        found, _ = self._computed(table)
        bad = np.flatnonzero(~(np.isfinite(found) & (found > 0)))
        if bad.size:
            row = int(bad[0])
            given = ", ".join(f"{name} = {float(table[name].iloc[row]):g}" for name in self.columns.values())
            message = f"{self.formula} is {found[row]:g} with {given}, but a positive number is expected."
            raise InputError(message).of_item(row, f"Row {row}")
        return found

    def slopes(self, table: pd.DataFrame) -> dict[str, Array]:
        """Return the derivatives of the formula in its columns, (N,) each."""
        return self._computed(table)[1]

    def _computed(self, table: pd.DataFrame) -> tuple[Array, dict[str, Array]]:
        names = list(dict.fromkeys(self.columns.values()))
        values = {name: _numbers(table, name, self.formula) for name in names}
        tree, called = _tree(self.formula)
        given = {short: self.columns[name] for short, name in called.items()}
        with np.errstate(all="ignore"):  # what is not finite is refused, with its row
            value, slopes = _dual(tree, given, values, len(table))
        return value, {name: slopes.get(name, np.zeros(len(table))) for name in names}


def read_law(text: str, targets: Sequence[str], columns: Iterable[str]) -> Law:
    """Read ``TARGET ~ FORMULA``; names may be in backticks, and without their unit where that is unambiguous.

    Parameters
    ----------
    text : str
    targets, columns : sequence of str
        That there are; the formula is one of numeric inputs.

    Examples
    --------
    >>> read_law("lift ~ `air density` * speed**2", ["lift"], ["speed (m/s)", "air density [kg/m^3]"]).columns
    {'air density': 'air density [kg/m^3]', 'speed': 'speed (m/s)'}
    """
    target, tilde, formula = (part.strip() for part in text.partition("~"))
    if not (target and tilde and formula):
        raise InputError(f"The law {text!r} is not understood; expected TARGET ~ FORMULA, such as sag ~ force / young.")
    name = matched_column(target.strip("`").strip(), targets)
    if name is None:
        raise InputError(f"The law {text!r} is about {target!r}, but the targets are {', '.join(targets)}.")
    return law_of(name, formula, columns, targets)


def law_of(target: str, formula: str, columns: Iterable[str], targets: Sequence[str] = ()) -> Law:
    """Return the law of a target, given the columns that a formula may name; see :func:`read_law`."""
    known = list(map(str, columns))
    whole = _with_backticks(str(formula), known)
    _, called = _tree(whole)
    found = {}
    for short in called.values():
        name = matched_column(short, known)
        if name is None:
            also = " That is a target, not an input." if matched_column(short, targets) is not None else ""
            raise InputError(
                f"The law of {target!r}, {formula}, names {short!r}, but the numeric inputs are "
                f"{', '.join(known) or 'none'}.{also}"
            )
        found[short] = name
    if not found:
        raise InputError(f"The law of {target!r}, {formula}, names no column; the inputs are {', '.join(known)}.")
    return Law(target, whole, found)


def read_laws(given: Laws | None, targets: Sequence[str], columns: Iterable[str]) -> list[Law | None]:
    """Return the law of every target, None where there is none.

    Parameters
    ----------
    given : str, list of str, dict of str to str, or None
        ``TARGET ~ FORMULA``, several of them, or formulas by target.
    targets, columns : sequence of str

    Examples
    --------
    >>> [law and law.formula for law in read_laws({"lift": "v**2"}, ["drag", "lift"], ["v"])]
    [None, 'v**2']
    """
    known = list(columns)
    if isinstance(given, Mapping):
        laws = [read_law(f"{target} ~ {formula}", targets, known) for target, formula in given.items()]
    else:
        texts = [given] if isinstance(given, str) else list(given or [])
        laws = [read_law(str(text), targets, known) for text in texts]
    by_target: dict[str, Law] = {}
    for law in laws:
        if law.target in by_target:
            raise InputError(f"{law.target!r} has two laws, {by_target[law.target].formula} and {law.formula}.")
        by_target[law.target] = law
    return [by_target.get(target) for target in targets]


def laws_of_table(given: Laws | None, names: Sequence[str], targets: Array, table: pd.DataFrame) -> list[Law | None]:
    """Return the laws of targets (N, k) over the numbers of a table; refuse ratios that are all the same or overflow.

    Parameters
    ----------
    given : str, list of str, dict of str to str, or None
        See :func:`read_laws`.
    names : sequence of k str
    targets : ndarray of shape (N, k)
    table : DataFrame of N rows
        The inputs.
    """
    numeric = [str(name) for name in table.columns if pd.api.types.is_numeric_dtype(table[name])]
    laws = read_laws(given, names, numeric)
    for k, law in enumerate(laws):
        if law is None:
            continue
        ratio = targets[:, k] / law.values(table)
        size = float(np.abs(ratio).max())
        if not (np.isfinite(size) and 1 / _LARGEST < size < _LARGEST):
            raise InputError(f"{law.target} over {law.formula} is {size:.3g}: choose other units for its columns.")
        if np.ptp(ratio) <= _SAME * size:
            told = f"{law.target} is {ratio[0]:.6g} times {law.formula} in all {len(ratio)} rows"
            raise InputError(f"{told}: there is nothing to learn.")
    return laws


def bare_name(name: str) -> str:
    """Return the name of a column without a unit in brackets behind it.

    Examples
    --------
    >>> bare_name("force [N]"), bare_name("p [kg/(m s2)]"), bare_name("speed (m/s)"), bare_name("load")
    ('force', 'p', 'speed', 'load')
    """
    return _BRACKET.sub("", name) or name


def written(name: str, columns: Iterable[str]) -> str:
    """Return how a formula names a column: without its unit where that is unambiguous, in backticks where needed.

    Examples
    --------
    >>> written("force [N]", ["force [N]", "young [MPa]"]), written("air density [kg/m3]", ["air density [kg/m3]"])
    ('force', '`air density`')
    """
    short = bare_name(name)
    short = short if [bare_name(other) for other in columns].count(short) == 1 else name
    return short if short.isidentifier() and short != "sqrt" else f"`{short}`"


def matched_column(short: str, names: Sequence[str]) -> str | None:
    """Return the column that a name stands for, or None: the same name, or the only one that is it without a unit.

    Examples
    --------
    >>> matched_column("force", ["force [N]", "speed"]), matched_column("load", ["force [N]", "speed"])
    ('force [N]', None)
    """
    wanted = normalize("NFKC", short)
    same = [name for name in names if normalize("NFKC", name) == wanted]
    near = [name for name in names if normalize("NFKC", bare_name(name)) == wanted]
    found = same or near
    if len(found) > 1:
        either = " or ".join(map(repr, found))
        raise InputError(f"{short!r} may be {either}; write it in full, in formulas in backticks.")
    return found[0] if found else None


def full_name(name: str, names: Sequence[str]) -> str:
    """Return the column that a user means by a name, which may lack its unit; the name itself where there is none.

    Examples
    --------
    >>> full_name("force", ["force [N]", "speed"]), full_name("load", ["force [N]", "speed"])
    ('force [N]', 'load')
    """
    return name if name in names else matched_column(name, names) or name


def _with_backticks(formula: str, columns: Sequence[str]) -> str:
    """Put names with units, such as ``force [N]``, into backticks where they are written plainly."""
    for name in sorted(columns, key=len, reverse=True):
        if _BRACKET.search(name):
            parts = formula.split("`")
            parts[::2] = [part.replace(name, f"`{name}`") for part in parts[::2]]
            formula = "`".join(parts)
    return formula


def _tree(formula: str) -> tuple[ast.expr, dict[str, str]]:
    """Return a formula as Python's parser sees it, and what the names in it were in the text."""
    parts = formula.split("`")
    quoted = {f"_quoted_{place}": name.strip() for place, name in enumerate(parts[1::2])}
    if len(formula) > _MOST_LETTERS or len(parts) % 2 == 0:
        problem = "is too long" if len(formula) > _MOST_LETTERS else "has a backtick that is not closed"
        raise InputError(f"The formula {formula[:60]!r} {problem}.")
    parts[1::2] = quoted
    try:
        tree = ast.parse("".join(parts).replace("^", "**").strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise InputError(
            f"The formula {formula!r} is not understood; expected {_KNOWN}, and names with spaces in `backticks`."
        ) from None
    called: dict[str, str] = {}
    _check(tree, formula, quoted, called)
    return tree, called


def _check(node: ast.expr, formula: str, quoted: Mapping[str, str], called: dict[str, str]) -> None:
    """Refuse all that a formula may not hold; collect the names of columns in it."""
    if isinstance(node, ast.Name):
        called[node.id] = quoted.get(node.id, node.id)
    elif _is_number(node):
        pass
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.UAdd, ast.USub)):
        _check(node.operand, formula, quoted, called)
    elif isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Add, ast.Sub, ast.Mult, ast.Div, ast.Pow)):
        _check(node.left, formula, quoted, called)
        within: dict[str, str] = {}
        _check(node.right, formula, quoted, within)
        if isinstance(node.op, ast.Pow) and within:
            raise InputError(f"The formula {formula!r} has the exponent {ast.unparse(node.right)}; expected a number.")
        called |= within
    elif _is_root(node):
        assert isinstance(node, ast.Call)
        _check(node.args[0], formula, quoted, called)
    else:
        found = ast.unparse(node)
        for short, name in quoted.items():
            found = found.replace(short, f"`{name}`")
        raise InputError(f"The formula {formula!r} holds {found}; expected {_KNOWN}.")


def _is_number(node: ast.expr) -> bool:
    """Whether it is a number that fits into a float with room to spare."""
    value = node.value if isinstance(node, ast.Constant) else None
    return isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) < 1e300


def _is_root(node: ast.expr) -> bool:
    """Whether it is sqrt of one thing."""
    named = isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "sqrt"
    return named and isinstance(node, ast.Call) and len(node.args) == 1 and not node.keywords


def _dual(
    node: ast.expr, names: Mapping[str, str], values: Mapping[str, Array], n: int
) -> tuple[Array, dict[str, Array]]:
    """Return the value of a formula, (n,), and its derivatives in columns, (n,) each: the chain rule, step by step."""
    if isinstance(node, ast.Name):
        return values[names[node.id]], {names[node.id]: np.ones(n)}
    if isinstance(node, ast.Constant):
        assert isinstance(node.value, (int, float))
        return np.full(n, float(node.value)), {}
    if isinstance(node, ast.UnaryOp):
        value, slopes = _dual(node.operand, names, values, n)
        sign = -1.0 if isinstance(node.op, ast.USub) else 1.0
        return sign * value, {name: sign * slope for name, slope in slopes.items()}
    if isinstance(node, ast.Call):
        value, slopes = _dual(node.args[0], names, values, n)
        root = np.sqrt(value)
        return root, {name: slope / (2.0 * root) for name, slope in slopes.items()}
    assert isinstance(node, ast.BinOp)
    (a, in_a), (b, in_b) = (_dual(side, names, values, n) for side in (node.left, node.right))
    if isinstance(node.op, ast.Pow):
        return a**b, {name: b * a ** (b - 1.0) * slope for name, slope in in_a.items()}
    if isinstance(node.op, (ast.Mult, ast.Div)):
        found, of_a, of_b = (a * b, b, a) if isinstance(node.op, ast.Mult) else (a / b, 1.0 / b, -a / b**2)
    else:
        sign = 1.0 if isinstance(node.op, ast.Add) else -1.0
        found, of_a, of_b = a + sign * b, np.ones(n), np.full(n, sign)
    slopes = {name: of_a * slope for name, slope in in_a.items()}
    for name, slope in in_b.items():
        slopes[name] = slopes.get(name, 0.0) + of_b * slope
    return found, slopes


def _numbers(table: pd.DataFrame, name: str, formula: str) -> Array:
    """Return a column as numbers, (N,)."""
    found = column(table, name, f"The law {formula}")
    try:
        values = np.asarray(found.to_numpy(), dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError(f"The law {formula} needs numbers in column {name!r}.") from None
    if values.ndim != 1:
        raise InputError(f"The law {formula} needs one number a row in column {name!r}.")
    return values
