"""The report says what it should, and a browser shows it without fetching anything."""

import re
import shutil

import numpy as np
import pytest

from swwl import load_model
from tests.chromium import Chromium
from tests.cli.conftest import SMALL, swwl

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def report(fitted):
    page = fitted.parent / "report.html"
    text = swwl("report", fitted, "-o", page).stdout
    assert text == f"report written to {page}\n"
    return page


@pytest.fixture(scope="module")
def chromium():
    browser = Chromium()
    yield browser
    browser.close()


@pytest.mark.parametrize("width", [390, 1000])
def test_a_browser_shows_it_and_nothing_is_fetched(report, chromium, width):
    chromium.open(report, width)
    requests = [
        event["params"]["request"]["url"] for event in chromium.events if event["method"] == "Network.requestWillBeSent"
    ]
    assert report.resolve().as_uri() in requests
    assert all(url.startswith(("data:", "file:")) for url in requests)
    assert sum(url.startswith("file:") for url in requests) == 1
    kinds = ("Log.entryAdded", "Runtime.exceptionThrown", "Runtime.consoleAPICalled")
    assert [event for event in chromium.events if event["method"] in kinds] == []
    pictures = chromium.ask("[...document.images].map(i => i.complete && i.naturalWidth > 0 && i.clientWidth > 100)")
    assert len(pictures) >= 12
    assert all(pictures)
    assert chromium.ask("document.documentElement.scrollWidth") <= width  # no sideways scrolling of the page
    assert chromium.ask("document.images.length") == chromium.ask(
        "[...document.images].filter(i => i.alt.length > 10).length"
    )


def test_it_has_the_sections_and_the_numbers(report, fitted):
    text = report.read_text(encoding="utf-8")
    headings = re.findall(r"<h2>(.*?)</h2>", text)
    assert headings == [
        "What the data is",
        "How good the model is",
        "Whether its intervals can be believed",
        "Which inputs matter",
        "Where it is unsure",
        "How it tells strange cases",
        "Training cases that look odd",
        "How to predict with it",
        "What the model is",
    ]
    assert "http" not in re.sub(r"data:[^\"]*", "", text).replace("http-equiv", "")
    assert "<script" not in text
    assert "swwl predict m.swwl new.csv -o predictions.csv" in text
    assert text.count("data:image/png") == 4  # meshes
    data = load_model(fitted).metadata_["held_out"]
    error = np.array(data["targets"]) - np.array(data["mean"])
    assert f"{np.sqrt((error[:, 0] ** 2).mean()):.4g}" in text


def test_meshes_that_are_gone_are_not_missed(data, tmp_path):
    swwl("fit", data / "table.csv", "--target", "massflow", "-o", tmp_path / "m.swwl", "--no-cache", *SMALL)
    shutil.rmtree(data / "meshes")
    swwl("report", tmp_path / "m.swwl")
    assert "The mesh files are not where the table says" in (tmp_path / "m.html").read_text(encoding="utf-8")
    metadata = load_model(tmp_path / "m.swwl").metadata_
    assert metadata["table"] == "d/table.csv"
