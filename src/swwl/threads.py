"""BLAS held to one thread, where several would fight with ours for cores or cost more than they give."""

from contextlib import AbstractContextManager
from functools import cache

from threadpoolctl import ThreadpoolController


def one_blas_thread() -> AbstractContextManager:
    """Return a context in which BLAS runs in one thread.

    Examples
    --------
    >>> with one_blas_thread():
    ...     pass
    """
    return _controller().limit(limits=1, user_api="blas")


@cache
def _controller() -> ThreadpoolController:
    # Finding the libraries takes milliseconds, so it is done once.
    return ThreadpoolController()
