"""How tests are shared among processes; on CI a test that is skipped for want of what CI can install is a failure."""

import gc
import os
import sys
from collections.abc import Generator
from importlib.util import find_spec
from typing import Any

import pytest

# POT would import torch, which takes seconds, only to find that nobody hands it tensors.
os.environ.setdefault("POT_BACKEND_DISABLE_PYTORCH", "1")

# Skips that are right everywhere.
_FINE = (
    "SWWL_DATA names no folder",
    "all tests skipped by +SKIP option",
    "pyarrow is installed",
    "there is no SIGKILL here",
    "there is no SIGINT to send here",
    "SCIPY_ARRAY_API is not set",
    *(["GraKeL is not installed"] if sys.version_info >= (3, 13) else []),
)


def _is_lack(report: Any) -> bool:
    """Whether a test was skipped, not expected to fail, for a reason that CI could do something about."""
    if not os.environ.get("CI") or report.outcome != "skipped" or hasattr(report, "wasxfail"):
        return False
    reason = str(report.longrepr[2] if isinstance(report.longrepr, tuple) else report.longrepr)
    lacking = os.environ.get("SWWL_LACKS", "").split()  # what .ci/run could not install
    return not any(words in reason for words in _FINE) and not any(f"{name} is not" in reason for name in lacking)


# What is imported stays: walking through all of it again and again would take a third of the time of collection.
gc.disable()


def pytest_collection_finish() -> None:
    """Let the garbage collector look at what tests make, and no longer at what was imported."""
    gc.freeze()
    gc.enable()


@pytest.hookimpl(tryfirst=True)
def pytest_cmdline_main(config: Any) -> None:
    """Give every worker a run of neighboring tests, which share fitted models, and let idle workers steal the rest.

    Each computes in one thread: with more of them than cores, BLAS would wait longer than it works.
    """
    if getattr(config.option, "numprocesses", None):
        os.environ.setdefault("OMP_NUM_THREADS", "1")
        if config.option.dist == "no":
            config.option.dist = "worksteal"


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: Any, call: Any) -> Generator[None, Any, Any]:
    """Turn such a skip of a test into a failure."""
    report = yield
    if _is_lack(report):
        report.outcome, report.longrepr = "failed", f"skipped on CI: {report.longrepr}"
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(collector: Any) -> Generator[None, Any, Any]:
    """Turn such a skip of a whole file into a failure."""
    report = yield
    if _is_lack(report):
        report.outcome, report.longrepr = "failed", f"skipped on CI: {report.longrepr}"
    return report


def pytest_runtest_setup(item: Any) -> None:
    """Skip the one doctest that needs an extra, where that is not installed."""
    if item.name == "swwl.mesh.remesh.coarsen.coarsen" and find_spec("mmgpy") is None:
        pytest.skip("mmgpy (swwl[mmg]) is not installed")
