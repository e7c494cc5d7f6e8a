"""The same rows of a field model get the same means, bounds and verdicts wherever they are asked about.

Rows: like the training cases, out of their range, unsure though like them, and on another kind of mesh.
"""

import warnings

import numpy as np
import pandas as pd
import pytest

from swwl import Mesh, load_model, read_mesh
from swwl.errors import CaseWarning
from swwl.fields.one_mesh import PreparedFields
from swwl.jobs.predict import DERIVED, PREDICTED, predict_fields
from swwl.report.fields import gather_fields
from swwl.serve.http.app import make_app
from swwl.serve.models import load_served
from swwl.tables.read import read_table
from tests.cli.conftest import swwl
from tests.fielddata import QUICK, plate, write_plates
from tests.serve.conftest import LIMITS, TestClient

pytestmark = pytest.mark.slow

ENDINGS = ("", "_std", "_lower95", "_upper95")
INSIDE, OUT, UNSURE, OTHER = range(4)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A model of a field of nodes and one of cells, and a table of four rows to ask about."""
    folder = tmp_path_factory.mktemp("one-answer")
    table = write_plates(folder, 108)
    fields = ["--target-field", "heat", "--target-field", "flux", "--inputs", "load", "--no-calibrate"]
    swwl("fit", table, *fields, "-o", folder / "f.swwl", *QUICK, "--quiet")
    far = plate(1.5, 2.0, 5)
    meshes = {
        "in": plate(1.5, 2.0, 5),
        "edge": plate(2.03, 1.02, 5),
        "far": Mesh(1000 * far.points, far.cells["triangle"]),
    }
    for name, mesh in meshes.items():
        mesh.write(folder / f"{name}.vtu")
    new = {"mesh": ["in.vtu", "in.vtu", "edge.vtu", "far.vtu"], "load": [2.0, 9.0, 1.02, 2.0]}
    pd.DataFrame(new).to_csv(folder / "new.csv", index=False)
    return folder


@pytest.fixture(scope="module")
def model(folder):
    return load_model(folder / "f.swwl")


@pytest.fixture(scope="module")
def asked(folder):
    table = pd.read_csv(folder / "new.csv")
    return table.assign(mesh=[folder / name for name in table["mesh"]])


@pytest.fixture(scope="module")
def answer(model, asked):
    """What Python says."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CaseWarning)
        return model.predict_meshes(asked), model.domain(asked), model.derived(asked, list(DERIVED), field="heat")


def parts(mesh):
    """All that a predicted mesh says of both fields."""
    return [*(mesh.fields[f"heat{end}"] for end in ENDINGS), *(mesh.cell_fields[f"flux{end}"] for end in ENDINGS)]


def numbers(derived, row):
    """Largest value and mean with their uncertainty, in the order of the command's columns."""
    return [derived[f"{what}_{key}"][row] for what in DERIVED for key in ("mean", "std", "lower", "upper")]


def test_the_rows_are_what_they_are_meant_to_be(answer):
    _, domain, _ = answer
    assert domain["inside"].tolist() == [True, False, True, False]
    assert domain["widened"].iloc[INSIDE] == "" and "heat" in domain["widened"].iloc[UNSURE]
    assert domain["kind"].iloc[OUT] == "input out of range" and "units" in domain["kind"].iloc[OTHER]


def test_python_gives_one_answer_by_all_its_methods(model, asked, answer):
    meshes, domain, _ = answer
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CaseWarning)
        mean, std = model.predict(asked, return_std=True)
        lower, upper = model.predict_interval(asked)
    for row, mesh in enumerate(meshes):
        for found, part in zip((mean, std, lower, upper), parts(mesh)[:4], strict=True):
            np.testing.assert_array_equal(found[row]["heat"], part)
    plain, wide = model.predict(asked, return_std=True, widen=False), domain["widened"].str.contains("heat")
    for row in range(4):
        np.testing.assert_array_equal(plain[0][row]["heat"], mean[row]["heat"])
        np.testing.assert_array_equal(plain[1][row]["heat"] * (2 if wide.iloc[row] else 1), std[row]["heat"])


def test_intervals_and_derived_numbers_of_unsure_rows_are_twice_as_wide(model, asked, answer):
    meshes, domain, derived = answer
    plain = model.predict_meshes(asked, widen=False)
    alone = model.derived(asked, list(DERIVED), field="heat", widen=False)
    for row in range(4):
        factor = 2 if "heat" in domain["widened"].iloc[row] else 1
        # Upper bounds, where the field is not cut off at zero, which no training field falls below, as lower ones are.
        free = plain[row].fields["heat"] > 0
        widths = [(m.fields["heat_upper95"] - m.fields["heat"])[free] for m in (plain[row], meshes[row])]
        if model.models_["heat"].warp.kind == "none":
            np.testing.assert_allclose(factor * widths[0], widths[1], rtol=1e-9)
        assert derived["max_mean"][row] == alone["max_mean"][row]
        for end in ("lower", "upper"):
            half = alone[f"max_{end}"][row] - alone["max_mean"][row]
            bound = np.clip(alone["max_mean"][row] + factor * half, *model.limits_["heat"])  # which it keeps
            assert derived[f"max_{end}"][row] == pytest.approx(bound)


def test_python_warns_where_the_command_prints_a_note(model, asked, recwarn):
    model.predict(asked[:1])
    model.predict_meshes(asked, widen=False)
    assert not recwarn
    for ask in (model.predict, model.predict_interval, model.predict_meshes):
        with pytest.warns(CaseWarning, match="1 of 1 cases is outside the training range") as caught:
            ask(asked[OUT : OUT + 1])
        assert caught[0].filename == __file__
    with pytest.warns(CaseWarning, match="1 of 1 cases is unlike the training cases.*units"):
        model.derived(asked[OTHER : OTHER + 1], "max", field="heat")


@pytest.mark.filterwarnings("error")
def test_the_job_behind_the_command_says_the_same(folder, model, answer):
    meshes, domain, derived = answer
    written = {}
    found = predict_fields(model, read_table(folder / "new.csv"), folder / "new.csv", written.__setitem__).table
    for row, mesh in enumerate(meshes):
        for one, other in zip(parts(written[row]), parts(mesh), strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-9)  # other rows beside it change last bits
        named = [found[f"heat_{what}_{key}"][row] for what in DERIVED for key in PREDICTED]
        np.testing.assert_allclose(named, numbers(derived, row), rtol=1e-9)
    np.testing.assert_allclose(found["domain_score"], domain["score"], rtol=1e-9)
    assert found["inside_domain"].tolist() == domain["inside"].tolist()
    assert found["widened"].tolist() == domain["widened"].tolist()
    assert [text.split(":")[0] for text in found["domain"]] == domain["kind"].tolist()


def test_the_command_says_the_same_and_says_it_once(folder, answer):
    _, domain, derived = answer
    shown = swwl("predict", folder / "f.swwl", folder / "new.csv", "-o", folder / "out", "--force")
    found = pd.read_csv(folder / "out/predictions.csv", keep_default_na=False)
    assert found["widened"].tolist() == domain["widened"].tolist()
    np.testing.assert_allclose(found["heat_max_upper95"], derived["max_upper"], rtol=1e-6)
    text = shown.stdout + shown.stderr
    assert text.count("unlike the training cases") == 1 and "Warning" not in text


def test_one_mesh_and_many_inputs_say_the_same(folder, model, asked, answer):
    meshes, domain, derived = answer
    for row, mesh in enumerate(meshes):
        prepared = PreparedFields(model, read_mesh(asked["mesh"][row]))
        cases = prepared.cases(asked.loc[[row], ["load"]])
        for one, other in zip(parts(cases.predict_meshes()[0]), parts(mesh), strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-9)
        np.testing.assert_allclose(numbers(cases.derived(list(DERIVED), field="heat"), 0), numbers(derived, row))
        for key in ("inside", "kind", "why", "widened"):
            assert cases.domain[key].iloc[0] == domain[key].iloc[row]


def test_the_server_says_the_same(folder, asked, answer, tmp_path):
    meshes, domain, derived = answer
    app = make_app(load_served([folder / "f.swwl"], folder), folder, limits=LIMITS)
    with TestClient(app, base_url="http://127.0.0.1") as client:
        for row, mesh in enumerate(meshes):
            case = {"mesh": asked["mesh"][row].name, "inputs": {"load": float(asked["load"][row])}}
            (tmp_path / "a.vtu").write_bytes(client.post("/api/field", json=case | {"format": "vtu"}).content)
            for one, other in zip(parts(read_mesh(tmp_path / "a.vtu")), parts(mesh), strict=True):
                np.testing.assert_allclose(one, other, rtol=1e-9)
            found = client.post("/api/predict", json=case).json()
            told = [
                found["targets"][f"heat_{what}"][key] for what in DERIVED for key in ("mean", "std", "lower", "upper")
            ]
            np.testing.assert_allclose(told, numbers(derived, row), rtol=1e-9)
            assert found["domain"]["score"] == pytest.approx(domain["score"].iloc[row])
            assert found["domain"]["inside"] == domain["inside"].iloc[row]
            trust = ("tested", "untested", "unsure", "untested")[row]
            assert found["targets"]["heat_max"]["trust"] == trust


def test_the_report_says_the_same_of_the_meshes_that_it_shows(folder, model):
    facts = gather_fields(model, folder / "f.swwl")
    table = pd.read_csv(folder / "table.csv")
    held_out = table[table["split"] == "test"].reset_index(drop=True)
    held_out["mesh"] = [folder / name for name in held_out["mesh"]]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CaseWarning)
        meshes = model.predict_meshes(held_out)
    assert facts.drawn
    for case, mesh in facts.drawn.items():
        for end in ("", "_std"):
            np.testing.assert_allclose(mesh.fields[f"heat{end}"], meshes[case].fields[f"heat{end}"], rtol=1e-9)
        assert facts.verdicts[case] == model.domain(held_out)["kind"].iloc[case]
