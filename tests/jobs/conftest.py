"""Fourteen small plates, and models of numbers and of fields that are fitted to them by jobs."""

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from swwl import load_model
from swwl.jobs.fit import FitJob, FitRequest
from swwl.jobs.plan import KernelOptions
from tests.fielddata import write_plates

QUICK = KernelOptions("swwl", n_projections=4, n_quantiles=10, n_iterations=1, n_jobs=1)


def run(request):
    """Do a job of fitting without a word; return the models that were written."""
    job = FitJob(request)
    job.check()
    return [load_model(path) for path, _ in job.run()]


@pytest.fixture(scope="session")
def made(tmp_path_factory):
    """The plates; do not change them."""
    folder = tmp_path_factory.mktemp("jobs") / "plates"
    write_plates(folder)
    return folder


@pytest.fixture
def folder(made, tmp_path):
    """A copy of the plates to spoil."""
    return Path(shutil.copytree(made, tmp_path / "plates", ignore=shutil.ignore_patterns(".swwl-cache", "*.swwl")))


@pytest.fixture(scope="session")
def models(made):
    """A model of the field heat and of the column top, in one job."""
    request = FitRequest(
        made / "table.csv", made / "m.swwl", ["top"], ["heat", "move", "flux"], kernel=QUICK, n_modes=2, calibrate=False
    )
    return run(request)


@pytest.fixture(scope="session")
def fields(models):
    return models[0]


@pytest.fixture(scope="session")
def numbers(models):
    return models[1]


def quick(**changes):
    """Return the quick kernel with other options."""
    return replace(QUICK, **changes)
