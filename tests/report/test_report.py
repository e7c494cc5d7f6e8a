"""The page: words from templates that escape everything, numbers from the library."""

import re
from importlib.resources import files

import matplotlib.figure
import numpy as np
import pandas as pd
import pytest
from jinja2 import UndefinedError

from swwl import SWWL as Swwl
from swwl import Matern52, RobustGPRegressor, __version__
from swwl.errors import OutlierWarning
from swwl.evaluation import scores
from swwl.fields.estimator import kept_words
from swwl.report import make_report, write_report
from swwl.report.fields import field_sections, gather_fields
from swwl.report.page import GENERATOR, gather, picture, render, text_columns
from swwl.report.sections import accuracy, data, domain, extent, intervals, odd, parts, predict, summary, unsure
from tests.helpers import plates


@pytest.fixture(scope="module")
def model():
    table = plates(30).rename(columns={"load": "<load>", "weight": "<b>weight"})
    kernel = Swwl("mesh", n_iterations=0, n_projections=4, n_quantiles=5) * Matern52("<load>")
    return RobustGPRegressor(kernel, n_starts=1).fit(table, "<b>weight")


@pytest.fixture(scope="module")
def facts(model):
    return gather(model, None)


def test_templates_are_part_of_the_package():
    names = {file.name for file in (files("swwl.report") / "templates").iterdir()}
    assert names == {
        "page.html.j2",
        "parts.html.j2",
        "numbers.html.j2",
        "fields.html.j2",
        "curves.html.j2",
        "series.html.j2",
        "study.html.j2",
        "style.css",
    }


def test_what_a_template_does_not_get_is_an_error():
    with pytest.raises(UndefinedError):
        render("numbers", "nothing to say")


def test_texts_stand_at_the_left_and_amounts_at_the_right():
    rows = [["plate_1", 3, "1.5 ± 0.2", "88 %"], ["plate_2", 12, "", "-0.104"]]
    assert text_columns(rows, 4) == [True, False, True, False]
    assert text_columns([], 2) == [False, False]


@pytest.mark.slow
def test_names_are_escaped_and_a_model_from_python_has_a_report(model, tmp_path):
    text = make_report(model)
    assert "<load>" not in text and "<b>weight" not in text and "&lt;b&gt;weight" in text
    assert "judged here by cross-validation" in text
    assert "data:image/png" not in text  # it does not know where meshes are
    assert f'{GENERATOR}{__version__}">' in text
    write_report(tmp_path / "r.html", model)
    assert (tmp_path / "r.html").read_text(encoding="utf-8") == text


@pytest.mark.slow
def test_every_section_is_linked_once(model):
    text = make_report(model)
    anchors, sections = re.findall(r'href="#(\w+)"', text), re.findall(r'<section id="(\w+)">', text)
    assert anchors == sections == ["data", "accuracy", "intervals", "inputs", "unsure", "domain", "odd", "predict",
                                   "model"]  # fmt: skip
    assert len(re.findall("<h1>", text)) == 1 and text.count("<section") == text.count("</section>")
    assert "<script" not in text and "http" not in re.sub(r'data:[^"]*', "", text).replace("http-equiv", "")


def test_pictures_have_words_beside_them():
    drawing = matplotlib.figure.Figure()
    found = picture(drawing, 'a "quoted" picture', "below", "png")
    assert found.source.startswith("data:image/png;base64,") and found.caption == "below"
    assert picture(drawing, "plain").source.startswith("data:image/svg+xml;base64,")


def test_numbers_are_those_of_the_library(facts, model):
    score = scores.score(facts.y[:, 0], model.cross_validation()[1].column(0))
    ((name, found, spread),) = summary(facts)["scores"]
    assert (name, found) == ("<b>weight", score) and spread == pytest.approx(facts.y.std())
    assert summary(facts)["sources"] == ["meshes", "1 number"]
    assert accuracy(facts)["rows"][0][2:5] == [30, f"{score.rmse:.4g}", f"{score.q2:.3f}"]
    (verdict,) = intervals(facts)["verdicts"]
    assert verdict["inside"] == round(30 * score.coverage) and verdict["cases"] == "left-out cases"
    assert (verdict["low"], verdict["high"]) == scores.faultless_counts(30)
    assert verdict["verdict"] == scores.interval_verdict(facts.y[:, 0], facts.left_out.column(0))
    (name, rows), = unsure(facts)["widest"]  # fmt: skip
    assert len(rows) == 6 and name == "<b>weight"


def test_columns_cases_and_commands(facts, model):
    found = data(facts)
    assert [row[:2] for row in found["ranges"]] == [["<b>weight", "target"], ["<load>", "input"]]
    assert found["nodes"] is None and found["pictures"] == []
    assert extent([3, 1, 2]) == (1, 2, 3) and extent([]) is None
    asked = predict(facts)
    assert asked["columns"] == ["mesh", "<load>"] and asked["meshes"] and asked["vectors"] == []
    assert asked["sweep"].startswith("<load>=") and asked["sweep"].endswith(":20")
    assert domain(facts)["n"] == 30
    one = facts.left_out.column(0)
    count = int((np.abs((facts.y[:, 0] - one.mean) / one.std) > 3).sum())
    assert odd(facts)["worst"][0][1] == count
    assert parts(facts)["candidates"] == [] and len(parts(facts)["ranges"]) == len(parts(facts)["targets"]) + 1


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::swwl.errors.GPWarning")
def test_few_rows_of_noise_are_not_believed():
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"a": rng.random(12), "b": rng.random(12), "y": rng.random(12)})
    text = make_report(RobustGPRegressor(Matern52("a") * Matern52("b"), n_starts=1).fit(table, "y"))
    assert "12 cases are too few to tell whether intervals can be believed" in text and "They can be" not in text
    text = make_report(RobustGPRegressor(Matern52("a"), n_starts=1).fit(table[:8], "y"))
    assert "not judged: no case was left out or held out" in text and "Q² of" not in text


@pytest.mark.slow
def test_rows_that_hardly_count_are_listed():
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"a": rng.random(40)}).assign(y=lambda t: 2 + np.sin(5 * t["a"]))
    table.loc[11, "y"] *= 5
    with pytest.warns(OutlierWarning):
        model = RobustGPRegressor(Matern52("a"), n_starts=1).fit(table, "y")
    ((label, target, _, _, weight),) = odd(gather(model, None))["hardly_counted"]
    assert (label, target) == ("row 11", "y") and weight in ("0 %", "1 %", "0.2 %", "0.1 %")
    assert "--keep-outliers" in make_report(model)


@pytest.mark.slow
@pytest.mark.parametrize("held_out", [True, False])
def test_fields_are_drawn_where_meshes_are_found(tmp_path, held_out):
    from swwl.jobs.fit import FitRequest
    from swwl.jobs.plan import HoldOut
    from tests.fielddata import write_plates
    from tests.jobs.conftest import QUICK, run

    table = write_plates(tmp_path / "d")
    rows = HoldOut(all_rows=not held_out)
    request = FitRequest(table, tmp_path / "f.swwl", fields=["heat"], kernel=QUICK, rows=rows, n_modes=2)
    (model,) = run(request)
    found = field_sections(gather_fields(model, tmp_path / "f.swwl"))
    assert found["kept"] == kept_words(model) and found["laws"] == []
    assert all(len(row) == 9 and row[6] in ("amplitude times shape", "as it is") for row in found["choices"])
    assert len(found["pictures"]) == 3 * held_out and len(found["mode_pictures"]) == held_out
    assert found["nodes"] == (16, 25, 36) and found["ranges"][0][0] == "load"
    text = make_report(model, tmp_path / "f.swwl")
    assert ("There are no pictures" in text) == (not held_out)
    assert text.count("<section") == 7 and "on held-out meshes" in text or not held_out
    assert '"></th>' not in text and 'alt=""' not in text
