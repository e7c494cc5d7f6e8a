"""``swwl curve``: characteristic curves of one mesh, as a picture and as numbers."""

from __future__ import annotations

import json
import math
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from swwl.cli.console import AtTime, Force, ModelFile, Output, Quiet, given_time
from swwl.errors import InputError, located
from swwl.formatting import Record, number

_MOST_POINTS = 100_000


def curve(
    model: ModelFile,
    sweep: Annotated[str, typer.Option(help="Input along the curves and its values: NAME=FIRST:LAST:NUMBER.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="Picture to write: .png, .svg or .pdf.")],
    mesh: Annotated[
        list[str] | None, typer.Option(help="Mesh file; COLUMN=FILE where the model has several mesh columns.")
    ] = None,
    each: Annotated[str | None, typer.Option(help="One curve for each of these values: NAME=A,B,C.")] = None,
    at: Annotated[
        list[str] | None,
        typer.Option(help="NAME=VALUE for other inputs; the training median by default."),
    ] = None,
    fix: Annotated[list[str] | None, typer.Option(help="The same as --at.")] = None,
    target: Annotated[list[str] | None, typer.Option(help="Target to draw; all by default.")] = None,
    time: AtTime = None,
    force: Force = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the numbers as JSON.")] = False,
    quiet: Quiet = False,
) -> None:
    """Draw characteristic curves with 95 % bands.

    The numbers are written beside the picture, as CSV. Bands are wider where the model is less sure.

    \b
    Example:
      swwl curve m.swwl --mesh d/meshes/00100.vtu --sweep pressure=1.34:1.48:20 --each speed=17000,17200,17400 -o c.png
      swwl curve m.swwl --mesh d/meshes/00100.vtu --sweep pressure=1.34:1.48:20 --at speed=17000 -o c.png
    """
    from swwl.design.pool import outside_notes
    from swwl.jobs.curves import PICTURES, draw_curves, plan_curves
    from swwl.jobs.outputs import check_output, is_picture, predictions_of
    from swwl.jobs.predict import case_meshes, column_kinds, load_regressor

    out = Output(quiet, as_json)
    along, curves = _range(sweep), None if each is None else _list(each)
    given = [
        (option, *_value(text, option)) for option, texts in (("--at", at), ("--fix", fix)) for text in texts or []
    ]
    fitted = load_regressor(model)
    full = partial(_in_full, list(column_kinds(fitted)))
    along, curves = (full(along[0]), along[1]), curves and (full(curves[0]), curves[1])
    fixed = _once(along, curves, [(option, full(name), value) for option, name, value in given])
    meshes = case_meshes(fitted, mesh or [], given_time(time))
    with located(str(model)):
        plan = plan_curves(fitted, along, curves, fixed, meshes, target or ())
    known: Record = {"inputs": [model, *plan.meshes.values()], "force": force}
    check_output(output, endings=PICTURES, ours=is_picture, **known)
    check_output(output.with_suffix(".csv"), ours=predictions_of(fitted.target_names_), **known)
    for note in outside_notes(fitted, fixed):
        out.note(f"{note}.")
    numbers = draw_curves(fitted, plan, output)
    for name, value in plan.held.items():
        out.say(f"{name} is held at {number(value)}, the median of the training set")
    out.say(f"{len(numbers)} points drawn in {output}, numbers in {output.with_suffix('.csv')}")
    out.result({"picture": output, "table": output.with_suffix(".csv"), "points": numbers.to_dict("list")})


def _in_full(columns: list[str], name: str) -> str:
    """Return the name of a column with its unit, where it is given without; names that are none as they are.

    >>> _in_full(["force [N]", "speed"], "force"), _in_full(["force [N]"], "load")
    ('force [N]', 'load')
    """
    from swwl.tables.laws import matched_column

    return matched_column(name, columns) or name


def _once(
    sweep: tuple[str, list[float]], each: tuple[str, list[float]] | None, fix: list[tuple[str, str, Any]]
) -> Record:
    """Return what is fixed; refuse an input that is given twice, and more points than anyone looks at.

    >>> _once(("p", [1.0, 2.0]), ("p", [3.0]), [])
    Traceback (most recent call last):
    ...
    swwl.errors.InputError: 'p' is given twice, by --sweep and --each; give it once.
    """
    given: dict[str, str] = {}
    options = [(sweep[0], "--sweep"), *([] if each is None else [(each[0], "--each")])]
    for name, option in options + [(name, option) for option, name, _ in fix]:
        if name in given:
            raise InputError(f"{name!r} is given twice, by {given[name]} and {option}; give it once.")
        given[name] = option
    n_points = len(sweep[1]) * (1 if each is None else len(each[1]))
    if n_points > _MOST_POINTS:
        raise InputError(f"--sweep and --each ask for {n_points} points, but at most {_MOST_POINTS} are drawn.")
    return {name: value for _, name, value in fix}


def _name(text: str, wanted: str) -> tuple[str, str]:
    name, equals, rest = text.rpartition("=")  # a column may have "=" in its name, a value has none
    if not (name and equals and rest):
        raise InputError(f"{text!r} is not understood; expected {wanted}.")
    return name.strip(), rest


def _range(text: str) -> tuple[str, list[float]]:
    """Read NAME=FIRST:LAST:NUMBER.

    >>> _range("p=1:2:3")
    ('p', [1.0, 1.5, 2.0])
    >>> _range("a=b=1:2:2")
    ('a=b', [1.0, 2.0])
    """
    wanted = "--sweep NAME=FIRST:LAST:NUMBER, such as pressure=1.3:1.5:20"
    name, rest = _name(text, wanted)
    try:
        first, last, count = rest.split(":")
        steps = _at_least_two(int(count)) - 1
        if steps >= _MOST_POINTS:
            raise InputError(f"--sweep {name} asks for {int(count)} points, but at most {_MOST_POINTS} are drawn.")
        return name, [float(first) + k * (float(last) - float(first)) / steps for k in range(steps + 1)]
    except InputError:
        raise
    except ValueError:
        raise InputError(f"{text!r} is not understood; expected {wanted}.") from None


def _at_least_two(count: int) -> int:
    if count < 2:
        raise ValueError
    return count


def _list(text: str) -> tuple[str, list[float]]:
    wanted = "--each NAME=A,B,C, such as speed=17000,17200"
    name, rest = _name(text, wanted)
    try:
        return name, [float(value) for value in rest.split(",")]
    except ValueError:
        raise InputError(f"{text!r} is not understood; expected {wanted}.") from None


def _value(text: str, option: str = "--at") -> tuple[str, Any]:
    """Read NAME=VALUE: a number, or a list of them for a column of vectors.

    >>> _value("speed=1.5"), _value("id=3"), _value("shape=[0.1, 2]")
    (('speed', 1.5), ('id', 3), ('shape', [0.1, 2]))
    """
    wanted = f"{option} NAME=VALUE, such as speed=17000"
    name, rest = _name(text, wanted)
    try:
        value = json.loads(rest) if rest.lstrip().startswith("[") else float(rest)
        if not all(math.isfinite(number) for number in (value if isinstance(value, list) else [value])):
            raise ValueError
        return name, int(rest) if rest.strip().lstrip("+-").isdecimal() else value
    except (TypeError, ValueError):
        raise InputError(f"{text!r} is not understood; expected {wanted}.") from None
