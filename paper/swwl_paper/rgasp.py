"""The robust Gaussian process beside R's RobustGaSP: stored fits of R's, evaluated and repeated with ours.

For every fit: the objective and its gradient at the points where R's were stored, predictions at R's estimates, and
how much higher our own optimum lies. Where R is known to err, the comparison is left out and the row says why.
"""

from __future__ import annotations

import json
import os
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from swwl.errors import MissingFileError
from swwl.gp import GPWarning, RobustGP
from swwl.plots.style import BLUE, GRAY, GREEN, ORANGE, PURPLE, VERMILLION, new_figure, style
from swwl_paper.study import Skipped, Study

FILE = "rgasp_reference.json"
_KERNELS = {"matern_5_2": "matern52", "matern_3_2": "matern32"}
_METHODS = {"post_mode": "posterior", "mmle": "marginal", "mle": "likelihood"}
_OBJECTIVES = {
    "posterior": ("neg_log_post", -1),
    "marginal": ("log_marginal_lik", 1),
    "likelihood": ("log_profile_lik", 1),
}
# Below this the logarithmic axis of the figure would stretch for nothing: double precision.
_FLOOR = 1e-16


def run(study: Study) -> None:
    """Compare every stored fit."""
    reference = json.loads(find_reference(study).read_text(encoding="utf-8"))
    study.note(R=reference["meta"]["R"], RobustGaSP=reference["meta"]["RobustGaSP"])
    rows = study.rows(["fit"])
    progress = study.progress("fits of R's")
    with warnings.catch_warnings():
        # With a vanishing nugget R's own matrices are near singular.
        warnings.simplefilter("ignore", GPWarning)
        for done, name in enumerate(reference["fits"], 1):
            if not rows.has(fit=name):
                rows.add(compare(reference, name))
            if progress is not None:
                progress(done, len(reference["fits"]))
    frame = rows.frame()
    meta = reference["meta"]
    study.show(
        f"RobustGP beside R's RobustGaSP {meta['RobustGaSP']}",
        texts(frame),
        "Largest differences, relative to the largest value compared: of the objective and of its gradient where R's "
        "are stored, of means and of standard deviations predicted with R's estimates. Gain: our optimum less R's. "
        "Left out: R's gradient of products of several Matérn 3/2 (m32_prod), which misses a factor, so that it "
        "stops short of the optimum; its optima under other priors (ref_xi, ref_gamma) and at given ranges.",
    )
    study.figure(draw_differences(frame))


def find_reference(study: Study) -> Path:
    """Return the file of R's answers: the option "reference", or the one in the folder that ``SWWL_DATA`` names."""
    given = study.options.get("reference")
    if given:
        path = Path(given[0])
        if not path.is_file():
            raise MissingFileError(f"{path}: there is no such file of R's answers.")
        return path
    folder = os.environ.get("SWWL_DATA")
    if folder and (Path(folder) / FILE).is_file():
        return Path(folder) / FILE
    raise Skipped(
        f"R's answers are read from {FILE} in the folder that SWWL_DATA names, or from the file that --reference "
        f"names; a clone of swwl has it in tests/gp/data."
    )


@dataclass(frozen=True)
class Problem:
    """All that :class:`swwl.RobustGP` needs to repeat a fit of R's.

    Attributes
    ----------
    train, cross : list of ndarray
        Distances, (N, N) and (M, N).
    y : ndarray of shape (N,)
    correlations : list
    settings : dict
        Of the Gaussian process, but for ranges and nugget.
    trend, test_trend : ndarray of shape (N, m) and (M, m), or None
    nugget : "estimate" or float
    """

    train: list[NDArray[np.float64]]
    cross: list[NDArray[np.float64]]
    y: NDArray[np.float64]
    correlations: list[Any]
    settings: dict[str, Any]
    trend: NDArray[np.float64] | None
    test_trend: NDArray[np.float64] | None
    nugget: str | float


def problem(reference: dict[str, Any], name: str) -> Problem:
    """Return one fit as a problem for us."""
    fit = reference["fits"][name]
    settings = fit["settings"]
    inputs = reference["inputs"][fit["dataset"]]
    if "R0" in inputs:
        train, cross = ([np.array(d) for d in inputs[key]] for key in ("R0", "r0"))
    else:
        x, new = np.array(inputs["X"]), np.array(inputs["Xt"])
        train, cross = ([np.abs(a[:, [j]] - x[:, j]) for j in range(x.shape[1])] for a in (x, new))
        if settings["isotropic"]:
            train, cross = ([np.sqrt(sum(d**2 for d in axes))] for axes in (train, cross))
    kernels = settings["kernel"] if isinstance(settings["kernel"], list) else [settings["kernel"]] * len(train)
    powers = [("power", a) if a < 2 else "gaussian" for a in settings["alpha"]]
    given = settings["trend"] is not None
    return Problem(
        train,
        cross,
        np.array(inputs["y"]),
        [_KERNELS.get(kernel, powers[i]) for i, kernel in enumerate(kernels)],
        {
            "trend": "columns" if given else {"Yes": "zero", "No": "constant"}[settings["zero_mean"]],
            "method": _METHODS[settings["method"]],
            "nugget_floor": 0.0,
            "prior_a": settings["a"],
            "prior_b": settings["b"],
            "prior_c": _vector(fit["CL"]),
        },
        np.array(settings["trend"]) if given else None,
        np.array(settings["test_trend"]) if given else None,
        "estimate" if settings["nugget_est"] else settings["nugget_fixed"],
    )


def compare(reference: dict[str, Any], name: str) -> dict[str, Any]:
    """Return one row: R's log posterior and ours, and the largest differences."""
    fit, p = reference["fits"][name], problem(reference, name)
    settings = fit["settings"]
    wrong_gradient = "m32_prod" in name
    other_prior = settings["prior"] != "ref_approx"
    fixed_ranges = settings["range_par"] is not None

    own = RobustGP(p.correlations, nugget=fit["nugget_hat"], beta=_vector(fit["beta_hat"]), **p.settings)
    own.fit(p.train, p.y, trend_columns=p.trend)
    objective, gradient = _objective_differences(own, fit, p)
    mean, std = _prediction_differences(own, fit, p)
    ours = float("nan")
    if not (other_prior or fixed_ranges):
        free = RobustGP(p.correlations, nugget=p.nugget, **p.settings).fit(p.train, p.y, trend_columns=p.trend)
        ours = float(free.log_posterior_)
    theirs = float("nan") if fit["log_post"] is None else float(fit["log_post"])
    notes = [
        "R's gradient misses a factor, so it stops short of the optimum" if wrong_gradient else "",
        f"R's optimum under another prior ({settings['prior']})" if other_prior else "",
        "ranges given" if fixed_ranges else "",
    ]
    return {
        "fit": name,
        "data": fit["dataset"],
        "n": len(p.y),
        "log_posterior_r": theirs,
        "log_posterior": ours,
        "gain": ours - theirs,
        "objective": objective,
        "gradient": float("nan") if wrong_gradient else gradient,
        "mean": mean,
        "std": std,
        "note": "; ".join(note for note in notes if note),
    }


def _objective_differences(gp: RobustGP, fit: dict[str, Any], p: Problem) -> tuple[float, float]:
    """Return the largest relative differences of the objectives, all three of them, and of the posterior's gradient."""
    ranges = len(p.correlations)
    fixed = np.log(p.nugget) if not isinstance(p.nugget, str) and p.nugget > 0 else -np.inf
    worst_value, worst_gradient = 0.0, 0.0
    method = gp.method
    for other, (key, sign) in _OBJECTIVES.items():
        gp.set_params(method=other).fit(p.train, p.y, trend_columns=p.trend)
        for at in fit["objective_at"]:
            w = _vector(at["param_log_beta"])
            found: Any = gp.log_posterior(w[:ranges], w[ranges] if len(w) > ranges else fixed, return_gradient=True)
            value, gradient = found
            worst_value = max(worst_value, abs(value / (sign * at[key]) - 1))
            if other == "posterior":
                theirs = -_vector(at["neg_log_post_grad_logparam"])
                # Near the optimum the gradient is the small rest of terms of order one.
                size = max(1.0, np.abs(theirs).max())
                worst_gradient = max(worst_gradient, np.abs(gradient[: len(w)] - theirs).max() / size)
    gp.set_params(method=method).fit(p.train, p.y, trend_columns=p.trend)
    return float(worst_value), float(worst_gradient)


def _prediction_differences(gp: RobustGP, fit: dict[str, Any], p: Problem) -> tuple[float, float]:
    """Return the largest differences of mean and standard deviation, with and without noise."""
    worst = np.zeros(2)
    for key, noisy in (("predict_data", True), ("predict_mean", False)):
        predicted = gp.predict(p.cross, return_std=True, include_nugget=noisy, trend_columns=p.test_trend)
        for k, (values, stored) in enumerate(zip(predicted, ("mean", "sd"), strict=True)):
            theirs = _vector(fit[key][stored])
            worst[k] = max(worst[k], np.abs(values - theirs).max() / np.abs(theirs).max())
    return float(worst[0]), float(worst[1])


def _vector(x: ArrayLike) -> NDArray[np.float64]:
    """Undo R's unboxing of vectors of one entry."""
    return np.atleast_1d(np.array(x, dtype=float))


def texts(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the table as it is printed."""

    def small(value: float) -> str:
        return "–" if np.isnan(value) else f"{value:.0e}"

    def log(value: float) -> str:
        return "–" if np.isnan(value) else f"{value:.3f}"

    return pd.DataFrame(
        [
            {
                "fit": row.fit,
                "R": log(row.log_posterior_r),
                "ours": log(row.log_posterior),
                "gain": "–" if np.isnan(row.gain) else f"{row.gain:+.1e}",
                "objective": small(row.objective),
                "gradient": small(row.gradient),
                "mean": small(row.mean),
                "std": small(row.std),
            }
            for row in frame.itertuples()
        ]
    )


def draw_differences(frame: pd.DataFrame) -> Any:
    """Draw the differences of every fit on a logarithmic axis, and beside them by how much our optimum is higher."""
    place = -np.arange(len(frame), dtype=float)
    figure = new_figure(9.6, 1.4 + 0.185 * len(frame))
    looks = {
        "objective": ("o", BLUE),
        "gradient": ("s", ORANGE),
        "mean": ("^", GREEN),
        "std": ("D", PURPLE),
    }
    figure.get_layout_engine().set(rect=(0, 0.012, 1, 0.988))
    with style():
        left, right = figure.subplots(1, 2, sharey=True, width_ratios=(2.2, 1))
        values = frame[list(looks)].to_numpy(float).clip(_FLOOR)
        left.hlines(place, np.nanmin(values, axis=1), np.nanmax(values, axis=1), color="#D5D5D5", linewidth=1.5)
        for k, (name, (marker, color)) in enumerate(looks.items()):
            left.scatter(values[:, k], place, 16, color=color, marker=marker, label=name, zorder=3)
        left.set(xscale="log", title="Relative difference from R", ylim=(place[-1] - 0.8, 0.8))
        left.set_yticks(place, frame["fit"], fontsize=6.5)
        figure.legend(*left.get_legend_handles_labels(), loc="outside upper right", ncols=4)
        gain = frame["gain"].to_numpy(float)
        right.hlines(place, 0, gain, color="#D5D5D5", linewidth=1.5)
        higher = gain > 1e-3
        lower = gain < -1e-3
        for mask, color in ((~(higher | lower), GRAY), (higher, BLUE), (lower, VERMILLION)):
            right.scatter(gain[mask], place[mask], 16, color=color, zorder=3)
        right.set_xscale("symlog", linthresh=1e-6)
        reach = max(1.0, np.nanmax(np.abs(gain)))
        right.set(title="Our log posterior less R's", xlim=(-3 * 1e-3, 5 * reach), xticks=[-1e-4, 0, 1e-4, 1e-2, 1])
        right.axvline(0, color="#666666", linewidth=0.8)
    return figure
