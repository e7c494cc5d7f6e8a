"""Methods for whole fields at a tiny size: what each gets right, scores, rows, and going on where it stopped."""

import json

import numpy as np
import pandas as pd
import pytest

from swwl import Mesh
from swwl_paper import fieldmethods, fields, fieldsets, fieldtable, fieldtransport, published, reproduce
from swwl_paper.fieldmethods import Context, Predicted
from swwl_paper.fieldsets import Cases

pytestmark = pytest.mark.filterwarnings("ignore::swwl.errors.GPWarning")
TINY = fields.FieldsPlan(8, 3, 210, 1, 1, {"conductors": (8, 3, 500), "airfoils": (8, 3, 500)})


@pytest.fixture(autouse=True)
def tiny(monkeypatch):
    monkeypatch.setitem(fields.SIZES, "small", TINY)
    monkeypatch.setattr(fieldmethods, "ENTROPIES", (1e-2, 3e-3))
    for name, few in {"N_MODES": 4, "N_OWN": 1, "N_SHAPES": 3, "MOST_TO_CHOOSE": 9}.items():
        monkeypatch.setattr(fieldmethods, name, few)


def grid(n, width, height):
    """A rectangle of n by n nodes."""
    x, y = np.meshgrid(np.linspace(0, width, n), np.linspace(0, height, n))
    corner = (np.arange(n - 1) * n)[:, None] + np.arange(n - 1)
    cells = np.stack([corner, corner + 1, corner + n + 1, corner + n], axis=2).reshape(-1, 4)
    return Mesh(np.column_stack([x.ravel(), y.ravel()]), {"quad": cells})


def rectangles(counts, common=False, components=1):
    """Rectangles of random sizes with a field that is a multiple of their height."""
    rng = np.random.default_rng(0)
    meshes, loads = [], rng.uniform(1, 2, len(counts))
    for n, load in zip(counts, loads, strict=True):
        mesh = grid(n, *rng.uniform(1, 2, 2))
        values = load * (1 + mesh.points[:, 1])
        field = values if components == 1 else np.column_stack([values, -values])
        meshes.append(mesh.with_fields({"u": field}))
    return Cases("u", meshes, pd.DataFrame({"load": loads}), len(counts) - 4, common)


def errors(cases, predicted):
    return fields.scored(cases, predicted)["rrmse"]


@pytest.mark.parametrize("components", [1, 2])
def test_methods_learn_what_the_mean_field_does_not(components):
    context = Context(rectangles([6, 7] * 12, components=components))
    plain = errors(context.cases, fieldmethods.mean_field(context))
    assert errors(context.cases, fieldmethods.nearest_field(context)) < plain
    assert errors(context.cases, fieldmethods.exact_transport(context)) < 0.5 * plain
    found = fieldmethods.entropic_transport(context)
    assert errors(context.cases, found) < plain
    assert float(found.choice.split()[1]) in fieldmethods.ENTROPIES


def test_shared_nodes_are_predicted_best():
    context = Context(rectangles([7] * 24, common=True))
    assert errors(context.cases, fieldmethods.shared_nodes(context)) < 0.02


def test_transport_between_equal_meshes_is_the_identity():
    mesh, values = grid(6, 1.0, 2.0), np.random.default_rng(0).normal(size=(36, 2))
    plan = fieldtransport.Transport(mesh, np.ones(2)).plans(mesh, [0.0])[0]
    np.testing.assert_allclose(plan.decode(plan.encode(values)), values, atol=1e-6)


def test_meshes_of_many_nodes_are_carried_by_some(monkeypatch):
    monkeypatch.setattr(fieldtransport, "MOST_NODES", 60)
    mesh = grid(12, 1.0, 1.0)
    smooth = mesh.points[:, :1]
    plan = fieldtransport.Transport(mesh, np.ones(2)).plans(mesh, [0.0])[0]
    assert np.abs(plan.decode(plan.encode(smooth)) - smooth).max() < 0.3


@pytest.mark.parametrize("entropy", [1e-1, 1e-3, 1e-5])
def test_entropic_plans_keep_masses_and_come_near_exact_ones(entropy):
    ot = pytest.importorskip("ot", reason="POT is not installed")
    rng = np.random.default_rng(1)
    cost = fieldtransport.cdist(rng.normal(size=(40, 2)), rng.normal(size=(30, 2)), "sqeuclidean")
    cost /= cost.max()
    *_, plan = fieldtransport.entropic_plans(cost, [0.2, entropy], tolerance=1e-3, most=1000)
    np.testing.assert_allclose(plan.sum(axis=0), 1 / 30, rtol=1e-4)
    np.testing.assert_allclose(plan.sum(axis=1), 1 / 40, rtol=0.05)
    least = ot.emd2(np.full(40, 1 / 40), np.full(30, 1 / 30), cost)
    assert (plan * cost).sum() > least - 1e-3
    if entropy < 1e-2:
        assert (plan * cost).sum() < least + 5e-3


def test_entropic_plans_on_the_way_are_those_that_were_asked_for():
    rng = np.random.default_rng(2)
    cost = rng.uniform(size=(20, 25))
    together = list(fieldtransport.entropic_plans(cost, [0.1, 0.02], tolerance=1e-6))
    for entropy, plan in zip((0.1, 0.02), together, strict=True):
        alone = next(fieldtransport.entropic_plans(cost, [entropy], tolerance=1e-6))
        np.testing.assert_allclose(plan, alone, atol=1e-5)


def test_scores_of_known_predictions():
    cases = rectangles([5] * 8)
    truth = cases.values[cases.n_train :]
    high, low = [u + 1 for u in truth], [u - 1 for u in truth]
    top = np.array([[0.0, u.max() + (k != 1)] for k, u in enumerate(truth)])
    top[1, 1] -= 1e-6
    found = fields.scored(cases, Predicted(truth, low, high, top))
    assert found["rrmse"] == 0 and found["q2"] == 1 and found["coverage"] == 1
    assert found["largest_in"] == 0.75
    assert np.isnan(fields.scored(cases, Predicted(truth))["largest_in"])


def test_rows_tables_and_figure(tmp_path, monkeypatch):
    """One generated set with the cheap methods, and a second run that finds all rows there."""
    options = {"dataset": ["plates-displacement"], "kernel": ["mean", "nearest"]}
    reproduce("fields", folder=tmp_path, n_jobs=1, options=options)
    frame = pd.read_csv(tmp_path / "fields.csv")
    assert frame["model"].tolist() == ["mean", "nearest"] and set(frame["seed"]) == {21}
    assert json.loads((tmp_path / "fields.json").read_text())["settings"]["seeds"] == [21]
    text = (tmp_path / "fields.md").read_text(encoding="utf-8")
    assert "| plates: displacement |" in text and "Means over 1 seeds" not in text
    assert (tmp_path / "fields.png").read_bytes()[:4] == b"\x89PNG"
    monkeypatch.setattr(fields, "load", lambda *_: pytest.fail("meshes were read again"))
    reproduce("fields", folder=tmp_path, n_jobs=1, options=options)


def test_published_rings_carry_their_pressure(data_folder):
    path = data_folder / published.FILES["airfrans"]
    with np.load(path) as archive:
        arrays = dict(archive)
    np.savez(path, **arrays, cp=np.arange(len(arrays["points"])).astype(str))
    cases = fieldsets.load(None, "airfrans", 101, 6, 2, 0)
    assert len(cases.meshes) == 8 and list(cases.numbers) == ["velocity", "incidence"]
    first = cases.meshes[0].fields["cp"]
    assert len(first) == 20 and first[0] % 20 == 0
    again = fieldsets.load(None, "airfrans", 102, 6, 2, 0)
    assert again.meshes[0].fields["cp"][0] != first[0]


def test_sentences_compare_with_the_best_other_method():
    rows = [("nearest", 21, 0.4), ("exact", 21, 0.2), ("exact", 22, 9.0), ("ours", 21, 0.1)]
    frame = pd.DataFrame(rows, columns=["model", "seed", "rrmse"]).assign(dataset="blades")
    assert fieldtable.verdicts(frame) == ["- blades: pressure: 0.50 times the error of exact transport (1 seed)."]
