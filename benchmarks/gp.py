"""The robust GP beside its floor: LAPACK's ``dpotrf`` and ``dpotri`` on a matrix of the same size, same run."""

from __future__ import annotations

import time
from collections.abc import Iterator

import numpy as np
from scipy.linalg import lapack

from benchmarks.measure import Line, best_times
from swwl.gp import Block, Coordinates, Distances, Joint, RobustGP

N = 1000


def _plain_log_posterior(gp: RobustGP, squares: list[np.ndarray], log_beta: np.ndarray, log_nugget: float, y) -> float:
    """Write the objective down with full matrices, constant trend.

    One correlation is a matern52 of all squares together; three are gaussian factors, then two matern52.
    """
    beta, nugget = np.exp(log_beta), np.exp(log_nugget)
    scaled = [b**2 * d2 for b, d2 in zip(beta, squares, strict=True)]
    single = len(gp.correlations) == 1
    r = np.ones((N, N)) if single else np.exp(-sum(scaled[:-2]))
    for u in [sum(scaled)] if single else scaled[-2:]:
        t = np.sqrt(5 * u)
        r *= (1 + t + t**2 / 3) * np.exp(-t)
    r.flat[:: N + 1] += nugget
    solved = np.linalg.solve(r, np.stack([np.ones(N), y], axis=1))
    middle = solved[:, 0].sum()
    s2 = y @ solved[:, 1] - solved[:, 1].sum() ** 2 / middle
    largest = np.array([np.sqrt(d2.max()) for d2 in squares])
    p = len(beta)
    t = N ** (-1 / p) * largest @ beta + nugget
    prior = 0.2 * np.log(t) - N ** (-1 / p) * (0.2 + (p if gp.prior == "robust" else 1)) * t
    return -0.5 * np.linalg.slogdet(r)[1] - 0.5 * np.log(middle) - 0.5 * (N - 1) * np.log(s2) + prior


def run() -> Iterator[Line]:
    """Measure an evaluation, a whole fit and leave-one-out, with the accuracy of each."""
    rng = np.random.default_rng(0)
    x, z = rng.random((N, 3)), rng.normal(size=(N, 16)) * np.linspace(2.0, 0.2, 16)
    axes = [np.abs(x[:, [j]] - x[:, j]) for j in range(3)]
    y = np.sin(6 * x[:, 0]) + x[:, 1] * x[:, 2] + 0.3 * np.tanh(z[:, 0] + z[:, 1]) + 0.05 * rng.normal(size=N)
    columns = [(z[:, [k]] - z[:, k]) ** 2 for k in range(16)]
    squares = [d**2 for d in axes]
    cases = {
        "three distance matrices": (["gaussian", "matern52", "matern52"], axes, squares),
        "16 coordinates, two distance matrices": (
            ["gaussian", "matern52", "matern52"],
            [Coordinates(z), *axes[1:]],
            [*columns, *squares[1:]],
        ),
        "elliptic, 16 coordinates and three distance matrices": (
            ["matern52"],
            [Joint([Coordinates(z), *axes])],
            [*columns, *squares],
        ),
    }
    matrix = np.asfortranarray(np.exp(-3 * sum(axes)) + 1e-3 * np.eye(N))

    def factorize():
        return lapack.dpotrf(matrix, clean=0)[0]

    def factorize_and_invert():
        return lapack.dpotri(factorize(), overwrite_c=1)

    for case, (correlations, items, plain) in cases.items():
        gp = RobustGP(correlations, prior="gentle" if len(correlations) == 1 else "robust")
        start = time.perf_counter()
        gp.fit(items, y)
        seconds = time.perf_counter() - start
        solver = gp._solver  # noqa: SLF001, the log posterior itself is what is timed
        w, nugget = np.log(gp.beta_), float(np.log(gp.nugget_))
        first, floor, evaluation, left_out = best_times(
            factorize,
            factorize_and_invert,
            lambda o=solver, w=w, v=nugget: o.with_gradient(w, v),
            gp.leave_one_out,
        )
        error = abs(solver(w, nugget) / _plain_log_posterior(gp, plain, w, nugget, y) - 1)
        note = f"error {error:.0e}; {case}"
        yield Line("evaluation with gradient / (dpotrf + dpotri), N = 1000", evaluation / floor, 5, note=note)
        note = f"{seconds:.1f} s for {gp.n_evaluations_} evaluations from three starts; {case}"
        limit = 500 if len(correlations) > 1 else 800  # nineteen ranges in one function take more evaluations
        yield Line("whole fit / (dpotrf + dpotri), N = 1000", seconds / floor, limit, note=note)
        note = f"error {_left_out_error(gp, items, y):.0e} against refitting by hand; {case}"
        yield Line("leave-one-out / dpotrf, N = 1000", left_out / first, 2, note=note)


def _left_out_error(gp: RobustGP, items, y, i: int = 17) -> float:
    """Compare the closed form with refitting without point i by hand."""
    keep, out = np.flatnonzero(np.arange(N) != i), np.array([i])
    blocks = [item if isinstance(item, Block) else Distances(item) for item in items]
    part, new = [block.take(keep) for block in blocks], [block.take(out, keep) for block in blocks]
    alone = RobustGP(gp.correlations, beta=gp.beta_, nugget=gp.nugget_).fit(part, y[keep])
    mean, std = alone.predict(new, return_std=True)
    loo = gp.leave_one_out()
    return max(abs(loo.mean[i] / mean[0] - 1), abs(loo.std[i] / std[0] - 1))
