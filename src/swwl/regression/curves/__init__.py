"""Curves as answers: a series of values per case, on a common grid or on own ones.

``coding`` turns curves into a few coefficients and back; ``estimator`` predicts these with the default model of
numbers; ``bands`` says by folds how wide intervals and bands of whole curves have to be; ``numbers`` derives peaks,
integrals and crossings.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from swwl.regression.curves.estimator import CurveRegressor as CurveRegressor

__all__ = ["CurveRegressor"]


def __getattr__(name: str) -> Any:
    if name != "CurveRegressor":
        raise AttributeError(f"module 'swwl.regression.curves' has no attribute {name!r}")
    from swwl.regression.curves.estimator import CurveRegressor  # what predicts numbers takes nothing but names of here

    return CurveRegressor
