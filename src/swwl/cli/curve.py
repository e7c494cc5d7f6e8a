"""``swwl curve``: characteristic curves of one mesh, as a picture and as numbers."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Annotated, Any

import typer

from swwl.cli.console import Output, number
from swwl.errors import InputError

_PICTURES = (".png", ".svg", ".pdf")


def curve(
    model: Annotated[Path, typer.Argument(help="Model file that swwl fit wrote.")],
    sweep: Annotated[str, typer.Option(help="Input along the curves and its values: NAME=FIRST:LAST:NUMBER.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="Picture to write: .png, .svg or .pdf.")],
    mesh: Annotated[
        list[str] | None, typer.Option(help="Mesh file; COLUMN=FILE where the model has several mesh columns.")
    ] = None,
    each: Annotated[str | None, typer.Option(help="One curve for each of these values: NAME=A,B,C.")] = None,
    fix: Annotated[
        list[str] | None, typer.Option(help="NAME=VALUE for other inputs; the training median by default.")
    ] = None,
    target: Annotated[list[str] | None, typer.Option(help="Target to draw; all by default.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the numbers as JSON.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print errors only.")] = False,
) -> None:
    """Draw characteristic curves with 95 % bands.

    The numbers are written beside the picture, as CSV. Bands widen where the model knows less.

    \b
    Example:
      swwl curve m.swwl --mesh d/meshes/00100.vtu --sweep pressure=1.34:1.48:20 --each speed=17000,17200,17400 -o c.png
    """
    from swwl import load_model
    from swwl.evaluation import scores
    from swwl.jobs.table import check_output, write_table
    from swwl.plots import CurvesDisplay
    from swwl.plots.curves import predict_curves
    from swwl.plots.style import new_figure, style
    from swwl.storage import atomic_write

    out = Output(quiet, as_json)
    fitted = load_model(model)
    along = _range(sweep)
    chosen = None if each is None else _list(each)
    fixed = dict(_value(text) for text in fix or [])
    names = target or fitted.target_names_
    for name in names:
        if name not in fitted.target_names_:
            raise InputError(f"{model}: has no target {name!r}; it has: {', '.join(fitted.target_names_)}.")
    check_output(output, endings=_PICTURES)
    meshes = _meshes(fitted, model, mesh or [])
    train = scores.training_inputs(fitted)
    given = {along[0], *([chosen[0]] if chosen else []), *fixed}
    for name in given - {*train.columns}:
        found = ", ".join(train.columns) or "none"
        raise InputError(f"{model}: has no numeric input {name!r}; it has: {found}.")
    for name in train.columns:
        if name not in given:
            fixed[name] = float(train[name].median())
            out.say(f"{name} is held at {number(fixed[name])}, the median of the training set")
    _warn_outside(out, train, along[0], along[1])
    table, prediction = predict_curves(fitted, meshes, along, chosen, fixed)
    figure = new_figure(4.4 * min(len(names), 3), 3.6 * -(-len(names) // 3))
    with style():
        axes = figure.subplots(-(-len(names) // 3), min(len(names), 3), squeeze=False).ravel()
    numbers = table[list(train.columns)].copy()
    for axis, name in zip(axes, names, strict=False):
        display = CurvesDisplay.from_prediction(fitted, table, prediction, along[0], chosen and chosen[0], name)
        display.plot(axis)
        for key in ("mean", "std", "lower95", "upper95"):
            numbers[f"{name}_{key}"] = display.table[key]
    for axis in axes[len(names) :]:
        axis.remove()
    picture = io.BytesIO()
    figure.savefig(picture, format=output.suffix[1:].lower(), dpi=160)
    with atomic_write(output) as file:
        file.write(picture.getvalue())
    write_table(output.with_suffix(".csv"), numbers)
    out.say(f"{len(numbers)} points drawn in {output}, numbers in {output.with_suffix('.csv')}")
    out.result({"picture": output, "table": output.with_suffix(".csv"), "points": numbers.to_dict("list")})


def _name(text: str, wanted: str) -> tuple[str, str]:
    name, equals, rest = text.partition("=")
    if not (name and equals and rest):
        raise InputError(f"{text!r} is not understood; wanted is {wanted}.")
    return name.strip(), rest


def _range(text: str) -> tuple[str, list[float]]:
    """Read NAME=FIRST:LAST:NUMBER.

    >>> _range("p=1:2:3")
    ('p', [1.0, 1.5, 2.0])
    """
    wanted = "--sweep NAME=FIRST:LAST:NUMBER, such as pressure=1.3:1.5:20"
    name, rest = _name(text, wanted)
    try:
        first, last, count = rest.split(":")
        steps = _at_least_two(int(count)) - 1
        return name, [float(first) + k * (float(last) - float(first)) / steps for k in range(steps + 1)]
    except ValueError:
        raise InputError(f"{text!r} is not understood; wanted is {wanted}.") from None


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
        raise InputError(f"{text!r} is not understood; wanted is {wanted}.") from None


def _value(text: str) -> tuple[str, float]:
    wanted = "--fix NAME=VALUE, such as speed=17000"
    name, rest = _name(text, wanted)
    try:
        return name, float(rest)
    except ValueError:
        raise InputError(f"{text!r} is not understood; wanted is {wanted}.") from None


def _meshes(model: Any, path: Path, given: list[str]) -> dict[str, str]:
    from swwl.kernels.sliced import SWWL

    columns = [factor.column for factor in model.kernel_.factors if isinstance(factor, SWWL)]
    if len(columns) == 1 and len(given) == 1 and not given[0].startswith(f"{columns[0]}="):
        return {columns[0]: _existing(given[0])}
    named = dict(_name(text, f"--mesh COLUMN=FILE for the columns {', '.join(columns)}") for text in given)
    if set(named) != set(columns):
        wanted, found = (", ".join(names) or "none" for names in (columns, named))
        raise InputError(f"{path}: its mesh columns are {wanted}; --mesh was given for {found}.")
    return {name: _existing(file) for name, file in named.items()}


def _existing(file: str) -> str:
    if not Path(file).is_file():
        raise InputError(f"{file}: no such mesh file.")
    return file


def _warn_outside(out: Output, train: Any, name: str, values: list[float]) -> None:
    if name in train.columns and (min(values) < train[name].min() or max(values) > train[name].max()):
        low, high = number(float(train[name].min())), number(float(train[name].max()))
        out.say(f"{name} leaves the training range, {low} to {high}: trust the bands, they are wider there")
