"""The section about cases that are unlike the training cases, and how the model tells."""

from __future__ import annotations

import numpy as np

from swwl.design.domain import FEWEST, LEVEL
from swwl.report.facts import Facts
from swwl.report.page import paragraph, table
from swwl.words import number, percent

_MOST_ROWS = 5


def domain(facts: Facts) -> str:
    """Say what a new case is compared with, how often it would be called strange, and who lies at the edge."""
    reference = facts.model.domain_reference()
    n = reference.n_cases
    if n < FEWEST:
        return paragraph(
            f"Whether a new case is like the training cases cannot be told from {n} of them: at least {FEWEST} are "
            f"needed. Look at the ranges above, and at the units and the frame of new meshes."
        )
    scores = reference.left_out_scores()
    sure = ", ".join(
        f"{name} {number(float(value))}" for name, value in zip(facts.model.target_names_, reference.sure, strict=True)
    )
    text = (
        "swwl predict, and model.domain in Python, compare a new case with the training cases: how far its mesh lies "
        "along their variations, off them and from the nearest one, and how unsure the prediction is. Each becomes a "
        f"p-value by training cases that were left out; a case whose mean of them is at most {LEVEL} is outside. "
        f"Where the standard deviation exceeds that of 95 % of left-out training cases ({sure}), swwl predict doubles "
        "the interval and says so."
    )
    if len(scores) != len(facts.labels):
        return paragraph(text)
    text += f" Of the training cases themselves {percent(float(np.mean(scores <= LEVEL)))} would be outside."
    order = np.argsort(scores)[:_MOST_ROWS]
    rows = [[facts.labels[i], number(float(scores[i]))] for i in order]
    return paragraph(text) + table(["case", "score"], rows, "training cases at the edge: the lowest scores")
