r"""Units in the names of columns, ``force [N]`` or ``speed (m/s)``, and the laws that they allow.

By Buckingham's theorem a law between physical quantities is one between dimensionless products of them: where the
dimensions of inputs are the columns of a matrix D and that of a target is d, the target may go with
:math:`\prod_j x_j^{e_j}` for every e with :math:`D e = d`, and products with :math:`D e = 0` are its dimensionless
arguments. Exponents are computed as fractions, so that nothing is rounded.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations

import numpy as np
import pandas as pd

from swwl.tables.laws import bare_name, written

Dimension = tuple[Fraction, ...]  # of meter, kilogram, second, ampere, kelvin, mole, candela


@dataclass(frozen=True)
class Unit:
    """A unit: its dimension in m, kg, s, A, K, mol and cd, and how many of these it is.

    Examples
    --------
    >>> unit = read_unit("kg/(m s2)")
    >>> [str(power) for power in unit.dimension], unit.factor
    (['-1', '1', '-2', '0', '0', '0', '0'], 1.0)
    >>> read_unit("MPa").factor, read_unit("case")
    (1000000.0, None)
    """

    dimension: Dimension
    factor: float

    def __mul__(self, other: Unit) -> Unit:
        """Multiply units."""
        return Unit(
            tuple(a + b for a, b in zip(self.dimension, other.dimension, strict=True)), self.factor * other.factor
        )

    def __pow__(self, power: Fraction) -> Unit:
        """Return a power of a unit."""
        return Unit(tuple(power * a for a in self.dimension), self.factor ** float(power))


def _unit(factor: float = 1.0, **powers: int) -> Unit:
    names = ("m", "kg", "s", "A", "K", "mol", "cd")
    return Unit(tuple(Fraction(powers.get(name, 0)) for name in names), factor)


_METRIC = {
    "m": _unit(m=1), "g": _unit(1e-3, kg=1), "s": _unit(s=1), "A": _unit(A=1), "K": _unit(K=1), "mol": _unit(mol=1),
    "cd": _unit(cd=1), "N": _unit(m=1, kg=1, s=-2), "Pa": _unit(m=-1, kg=1, s=-2), "J": _unit(m=2, kg=1, s=-2),
    "W": _unit(m=2, kg=1, s=-3), "V": _unit(m=2, kg=1, s=-3, A=-1), "Hz": _unit(s=-1), "C": _unit(s=1, A=1),
    "F": _unit(m=-2, kg=-1, s=4, A=2), "ohm": _unit(m=2, kg=1, s=-3, A=-2), "H": _unit(m=2, kg=1, s=-2, A=-2),
    "T": _unit(kg=1, s=-2, A=-1), "Wb": _unit(m=2, kg=1, s=-2, A=-1), "bar": _unit(1e5, m=-1, kg=1, s=-2),
    "l": _unit(1e-3, m=3), "L": _unit(1e-3, m=3), "rad": _unit(), "eV": _unit(1.602176634e-19, m=2, kg=1, s=-2),
}  # fmt: skip
_OTHERS = {
    "min": _unit(60.0, s=1), "h": _unit(3600.0, s=1), "d": _unit(86400.0, s=1), "t": _unit(1e3, kg=1),
    "deg": _unit(math.pi / 180), "°": _unit(math.pi / 180), "%": _unit(0.01), "1": _unit(), "-": _unit(),
    "rpm": _unit(math.pi / 30, s=-1), "atm": _unit(101325.0, m=-1, kg=1, s=-2), "in": _unit(0.0254, m=1),
    "inch": _unit(0.0254, m=1), "ft": _unit(0.3048, m=1), "lb": _unit(0.45359237, kg=1),
    "psi": _unit(6894.757293168, m=-1, kg=1, s=-2),
    "lbf": _unit(4.4482216152605, m=1, kg=1, s=-2), "kt": _unit(1852 / 3600, m=1, s=-1), "sr": _unit(),
}  # fmt: skip
_PREFIXES = {"p": -12, "n": -9, "u": -6, "m": -3, "c": -2, "d": -1, "h": 2, "k": 3, "M": 6, "G": 9, "T": 12}
_PREFIXED = {
    f"{prefix}{name}": _unit(10.0**power) * unit
    for name, unit in _METRIC.items()
    for prefix, power in _PREFIXES.items()
}
# Celsius and Fahrenheit are no factors of a product, and more often meant than coulomb and farad.
_SYMBOLS = {name: unit for name, unit in (_PREFIXED | _METRIC | _OTHERS).items() if name not in ("C", "F")}
_TOKEN = re.compile(r"\s*(?:(\*\*|\^)|([*/().])|([+-]?\d+(?:\.\d+)?)|([A-Za-z°%]+)|(-))")
_SAME_SIGNS = str.maketrans(
    {"µ": "u", "μ": "u", "·": "*", "⋅": "*", "×": "*", "−": "-", "\u03a9": "ohm", "\u2126": "ohm"}
)
_RAISED = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻", "0123456789-")
_BRACKET = re.compile(r"[\[(](.*)[\])]$")

# Laws are looked for among so many inputs, of so many at a time, with these exponents.
_MOST_INPUTS, _MOST_FACTORS = 10, 4
_POWERS = tuple(sign * Fraction(p, q) for p, q in ((1, 1), (2, 1), (3, 1), (1, 2), (4, 1), (3, 2)) for sign in (1, -1))


def read_unit(text: str) -> Unit | None:
    """Read a unit; None where the text is not one.

    Examples
    --------
    >>> read_unit("m/s²") == read_unit("m s^-2") == read_unit("m*s**-2")
    True
    >>> read_unit("N/mm2").factor, read_unit("°C"), read_unit("old")
    (1000000.0, None, None)
    """
    plain = text.strip().translate(_SAME_SIGNS)
    raised = re.sub(r"[⁰¹²³⁴⁵⁶⁷⁸⁹⁻]+", lambda found: "^" + found[0].translate(_RAISED), plain)
    if raised in ("1", "-", "", "%"):
        return _OTHERS[raised] if raised else None
    tokens, place = [], 0
    while place < len(raised):
        found = _TOKEN.match(raised, place)
        if found is None:
            return None
        tokens.append(found[0].strip())
        place = found.end()
    try:
        unit, rest = _product(tokens)
    except (KeyError, ValueError, IndexError, RecursionError, OverflowError):
        return None
    return unit if not rest else None


def unit_of(name: str) -> Unit | None:
    """Return the unit in brackets at the end of a column's name; None where there is none.

    Examples
    --------
    >>> unit_of("young [MPa]").factor, unit_of("speed (m/s)").factor, unit_of("runs (old)"), unit_of("load")
    (1000000.0, 1.0, None, None)
    """
    short = bare_name(name)
    found = _BRACKET.match(name[len(short) :].strip()) if short != name else None
    return None if found is None else read_unit(found[1])


def _product(tokens: Sequence[str]) -> tuple[Unit, Sequence[str]]:
    """Read factors and divisors from left to right; return what is left behind a closing bracket."""
    unit, sign, rest = _unit(), 1, tokens
    while rest and rest[0] != ")":
        if rest[0] in ("*", ".", "/"):
            sign, rest = (-1 if rest[0] == "/" else 1), rest[1:]
        if rest[0] == "(":
            own, rest = _product(rest[1:])
            if rest[0] != ")":
                raise ValueError
            rest = rest[1:]
        else:
            own, rest = _SYMBOLS[rest[0]], rest[1:]
        power = Fraction(1)
        if rest and rest[0] in ("^", "**"):
            power, rest = Fraction(rest[1]), rest[2:]
        elif rest and re.fullmatch(r"[+-]?\d+", rest[0]):
            power, rest = Fraction(rest[0]), rest[1:]
        if abs(power) > 12:
            raise ValueError
        unit, sign = unit * own ** (sign * power), 1
    if tokens and rest is tokens:
        raise ValueError
    return unit, rest


@dataclass(frozen=True)
class Monomial:
    """A product of powers of columns.

    Attributes
    ----------
    powers : dict of str to Fraction
        By column; none is zero.

    Examples
    --------
    >>> Monomial({"force [N]": Fraction(1), "young [Pa]": Fraction(-1), "length [m]": Fraction(-2)}).formula()
    'force / (young * length**2)'
    >>> Monomial({"a": Fraction(-1, 2)}).formula()
    '1 / sqrt(a)'
    """

    powers: Mapping[str, Fraction]

    def formula(self, columns: Iterable[str] | None = None) -> str:
        """Return it as a formula, as :mod:`swwl.tables.laws` reads it, given all columns that names may be of."""
        known = list(self.powers if columns is None else columns)
        above = [_factor(written(name, known), power) for name, power in self.powers.items() if power > 0]
        below = [_factor(written(name, known), -power) for name, power in self.powers.items() if power < 0]
        start = " * ".join(above) or "1"
        if not below:
            return start
        return f"{start} / {below[0]}" if len(below) == 1 else f"{start} / ({' * '.join(below)})"

    @property
    def size(self) -> tuple[Fraction, ...]:
        """How simple it is: what sorts first is simpler."""
        powers = self.powers.values()
        halves = sum(power.denominator > 1 for power in powers)
        return Fraction(halves), Fraction(len(self.powers)), sum((abs(p) for p in powers), Fraction(0))


def _factor(name: str, power: Fraction) -> str:
    if power == Fraction(1, 2):
        return f"sqrt({name})"
    return name if power == 1 else f"{name}**{power if power.denominator == 1 else float(power)}"


def possible_laws(target: str, columns: Sequence[str]) -> list[Monomial]:
    """Return the products of powers of columns that have the unit of a target, the simplest first; none without units.

    Examples
    --------
    >>> columns = ["force [N]", "young [MPa]", "length [mm]"]
    >>> [law.formula() for law in possible_laws("sag [mm]", columns)][:3]
    ['length', 'force / (young * length)', 'young * length**3 / force']
    """
    unit = unit_of(target)
    return [] if unit is None else _monomials(unit.dimension, columns)


def likely_laws(table: pd.DataFrame, target: str, columns: Sequence[str]) -> list[str]:
    """Return the formulas that units allow for a target and its values do not contradict, the best first.

    Of a target that keeps its sign, those over which it varies less than by itself, as a standard deviation of
    logarithms, by what is left to a tenth and then by how simple they are; of others all, the simplest first.

    Parameters
    ----------
    table : DataFrame
        Training rows.
    target : str
    columns : sequence of str
        The numeric inputs.

    Examples
    --------
    >>> table = pd.DataFrame({"force [N]": [1.0, 2.0, 9.0], "young [Pa]": [3.0, 1.0, 2.0], "width [m]": [2.0, 3.0, 4]})
    >>> table["sag [m]"] = table["force [N]"] / table["young [Pa]"] / table["width [m]"]
    >>> likely_laws(table, "sag [m]", list(table.columns[:3]))[0]
    'force / (young * width)'
    """
    laws = possible_laws(target, columns)
    values = {name: table[name].to_numpy(np.float64) for name in {target, *(n for law in laws for n in law.powers)}}
    laws = [law for law in laws if all((values[name] > 0).all() for name in law.powers)]
    size = np.abs(values[target])
    if not ((values[target] > 0).all() or (values[target] < 0).all()):
        return [law.formula(columns) for law in laws]
    logs = {name: np.log(values[name]) for law in laws for name in law.powers}
    whole = float(np.std(np.log(size)))
    rated = []
    for law in laws:
        left = np.log(size) - sum(float(power) * logs[name] for name, power in law.powers.items())
        rated.append((round(float(np.std(left)) / whole, 1) if whole > 0 else 1.0, law))
    return [law.formula(columns) for left, law in sorted(rated, key=lambda pair: (pair[0], pair[1].size)) if left < 1]


def dimensionless_groups(columns: Sequence[str]) -> list[Monomial]:
    """Return products of powers of columns without a dimension, the simplest first: a set of independent ones.

    Examples
    --------
    >>> found = dimensionless_groups(["speed (m/s)", "size [m]", "viscosity [Pa s]", "rho [kg/m^3]"])
    >>> [group.formula() for group in found]  # the Reynolds number
    ['speed * size * rho / viscosity']
    """
    found: list[Monomial] = []
    for group in _monomials((Fraction(0),) * 7, columns):
        powers = [[own.powers.get(name, Fraction(0)) for name in columns] for own in [*found, group]]
        if _rank(powers) == len(powers) and next(iter(group.powers.values())) > 0:
            found.append(group)
    return found


def _monomials(dimension: Dimension, columns: Sequence[str]) -> list[Monomial]:
    """Return products of powers of columns, small ones, that have a dimension; the simplest first."""
    units = {name: unit.dimension for name in columns if (unit := unit_of(name)) is not None and any(unit.dimension)}
    names = list(units)[:_MOST_INPUTS]
    found: dict[tuple[tuple[str, Fraction], ...], Monomial] = {}
    for count in range(1, _MOST_FACTORS + 1):
        for chosen in combinations(names, count):
            for powers in _exponents([units[name] for name in chosen], dimension):
                if all(power in _POWERS for power in powers):
                    one = tuple(zip(chosen, powers, strict=True))
                    found.setdefault(one, Monomial(dict(one)))
    return sorted(found.values(), key=lambda one: one.size)


def _exponents(columns: Sequence[Dimension], dimension: Dimension) -> Iterator[list[Fraction]]:
    """Yield the exponents of columns that make up a dimension: the only ones, or those of which one is small."""
    pivots = _eliminate([[column[i] for column in columns] for i in range(len(dimension))], len(columns))
    if len(pivots) == len(columns):
        found = _solution(columns, dimension)
        if found is not None:
            yield found
        return
    if len(pivots) < len(columns) - 1:
        return  # products of simpler ones
    (free,) = set(range(len(columns))) - set(pivots)
    others = [column for place, column in enumerate(columns) if place != free]
    for power in _POWERS:
        rest = tuple(d - power * own for d, own in zip(dimension, columns[free], strict=True))
        found = _solution(others, rest)
        if found is not None:
            yield [*found[:free], power, *found[free:]]


def _solution(columns: Sequence[Dimension], dimension: Dimension) -> list[Fraction] | None:
    """Solve exactly for exponents; None where there is no solution, or more than one."""
    rows = [[*(column[i] for column in columns), dimension[i]] for i in range(len(dimension))]
    pivots = _eliminate(rows, len(columns))
    consistent = all(row[-1] == 0 for row in rows[len(pivots) :])
    return [rows[i][-1] for i in range(len(columns))] if consistent and len(pivots) == len(columns) else None


def _rank(rows: Sequence[Sequence[Fraction]]) -> int:
    own = [list(row) for row in rows]
    return len(_eliminate(own, len(own[0])))


def _eliminate(rows: list[list[Fraction]], n_columns: int) -> list[int]:
    """Bring rows to reduced echelon form, in place; return the columns of the pivots."""
    pivots: list[int] = []
    for column in range(n_columns):
        place = next((i for i in range(len(pivots), len(rows)) if rows[i][column] != 0), None)
        if place is None:
            continue
        top = len(pivots)
        rows[top], rows[place] = rows[place], rows[top]
        rows[top] = [value / rows[top][column] for value in rows[top]]
        for i, row in enumerate(rows):
            if i != top and row[column] != 0:
                rows[i] = [a - row[column] * b for a, b in zip(row, rows[top], strict=True)]
        pivots.append(column)
    return pivots
