"""What a fitted model of fields keeps, in words: limits, values on groups, sizes."""

from __future__ import annotations

from collections import Counter

import numpy as np
from numpy.typing import NDArray

from swwl.fields.estimator import FieldRegressor
from swwl.formatting import number


def kept_words(model: FieldRegressor) -> list[str]:
    """Say in a line each what all training fields keep, and predictions with them, and how large ones are told."""
    lines = []
    for name, one in model.models_.items():
        least, most = model.limits_[name]
        ends = [f"at least {number(least)}"] if least > -np.inf else []
        ends += [f"at most {number(most)}"] if most < np.inf else []
        if ends:
            lines.append(f"{name} stays {' and '.join(ends)}, as in all training fields")
        for group, values in one.held.items():
            lines.append(f"{name} is {held_words(values, one.kind.times)} on {group!r}, as in all training fields")
        if one.amplitude:
            lines.append(f"{name} is an amplitude, predicted as a number, times a shape")
        if one.power:
            lines.append(f"the largest {name} is predicted as a number, and the field is stretched to it")
    return lines


def held_words(values: NDArray[np.float64], times: int = 1) -> str:
    """Say what a field is held at, by component; of one at several times, at how many of them.

    >>> held_words(np.array([0.0, np.nan, 2.0])), held_words(np.array([20.0, 20.0, np.nan, np.nan]), times=4)
    ('0, free, 2', '20 at 2 of 4 times, free at the others')
    """
    told = ["free" if np.isnan(value) else number(float(value)) for value in values]
    if len(set(told)) == 1:
        return told[0]
    if 1 < times == len(told):
        most = Counter(one for one in told if one != "free").most_common()
        free = ", free at the others" if "free" in told else ""
        return ", ".join(f"{one} at {count} of {times} times" for one, count in most) + free
    return ", ".join(told)
