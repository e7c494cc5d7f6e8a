"""What meshes do to predictions beside the part: measured at the fit, in intervals and verdicts."""

import warnings

import numpy as np
import pandas as pd
import pytest

from swwl import SWWL, InputError, Matern52, Mesh, RobustGPRegressor, load_model
from swwl.domain.notes import case_notes
from swwl.errors import CaseWarning
from swwl.regression.influence import MeshInfluence, embedded_columns, random_error
from swwl.regression.one_mesh import OneMesh
from swwl.regression.state import regressor_from_state, regressor_state
from tests.helpers import SMALL, plain_state, plates


def contour(a, b, n):
    """A smooth closed curve with a blunt and a sharper end."""
    angle = 2 * np.pi * np.arange(n) / n
    points = np.column_stack([a * np.cos(angle), b * np.sin(angle) * (1 + 0.5 * np.cos(angle))])
    return Mesh(points, [(k, (k + 1) % n) for k in range(n)])


def contours(count, nodes, seed=0):
    rng = np.random.default_rng(seed)
    a, b = rng.uniform(1, 2, count), rng.uniform(0.2, 0.6, count)
    n = rng.integers(*nodes, size=count)
    meshes = [contour(*row) for row in zip(a, b, n, strict=True)]
    return pd.DataFrame({"mesh": meshes, "load": rng.uniform(1, 2, count), "y": a * np.sqrt(b), "z": b / a})


KERNEL = SWWL("mesh", measure="skin", n_iterations=0, n_projections=16, n_quantiles=30, quantiles="mean")


@pytest.fixture(scope="module")
def table():
    return contours(130, (100, 140))


@pytest.fixture(scope="module")
def model(table):
    kernel = KERNEL * Matern52("load")
    return RobustGPRegressor(kernel, n_starts=1, calibrate=False).fit(table[:110], ["y", "z"])


@pytest.fixture(scope="module")
def coarse(table):
    """The first training contours, with fewer and fewer nodes."""
    rows = table[:4]
    own = rows["mesh"].iloc[0].points
    a, b = own[:, 0].max(), rows["z"].iloc[0] * own[:, 0].max()
    meshes = [contour(a, b, n) for n in (120, 60, 20, 6)]
    return rows.assign(mesh=meshes, load=rows["load"].iloc[0])


def test_errors_that_grow_with_the_size_of_pieces_are_recovered():
    """Closed form: errors c h at random, so that squares of moves are c^2 (h^2 - h0^2) on average."""
    rng = np.random.default_rng(0)
    h0 = rng.uniform(1, 2, 4000)
    h = h0 * rng.uniform(1.5, 3, 4000)
    moves = np.sqrt(h**2 - h0**2)[:, None] * rng.normal(size=(4000, 2)) * [0.3, 2.0]
    np.testing.assert_allclose(random_error(h, h0, moves, 10**6), [0.3, 2.0], rtol=0.05)
    few, many = (random_error(h, h0, moves, n) for n in (4, 400))
    assert (few > 1.5 * many).all() and (many < 1.1 * np.array([0.3, 2.0])).all()
    assert random_error(h[:0], h0[:0], moves[:0], 3).tolist() == [0.0, 0.0]


def test_columns_of_meshes_add_their_variances():
    one = np.ones(2)
    both = MeshInfluence(["a", "b"], one, 3 * one, 9 * one, np.array([[0.3], [0.4]]), np.zeros((2, 1)))
    np.testing.assert_allclose(both.moves(np.array([[5.0, 5.0], [5.0, 2.0], [np.nan, 1.0]])), [[2.0], [1.2], [0.0]])
    assert both.expected(np.array([[1.0, 2.0], [3.0, 3.0], [np.nan, np.nan]])).notes == ["", "", ""]
    assert "in 'b' is about 4 times coarser" in both.expected(np.array([[3.0, 12.0]])).notes[0]


def test_meshes_as_fine_as_those_of_training_change_nothing(model, table):
    influence, test = model.stack_.influence, table[110:]
    assert influence.columns == ["mesh"] and influence.finest < influence.coarsest < influence.tried
    told, domain = model.predict_with_domain(test)
    sizes = model.stack_.represent(test).sizes[:, 0]
    inside = (influence.finest[0] <= sizes) & (sizes <= influence.coarsest[0])
    model.stack_.influence = None
    try:
        plain, without = model.predict_with_domain(test)
    finally:
        model.stack_.influence = influence
    assert inside.mean() > 0.9 and (domain["meshing"] == "").all()
    np.testing.assert_array_equal(told.mean, plain.mean)
    np.testing.assert_array_equal(told.scale[inside], plain.scale[inside])
    pd.testing.assert_frame_equal(domain, without)


def test_coarse_meshes_widen_intervals_and_are_outside(model, coarse):
    told, domain = model.predict_with_domain(coarse)
    cases = model.stack_.represent(coarse)
    moves = model.stack_.influence.moves(cases.sizes)
    assert (np.diff(moves, axis=0) > 0).all() and not moves[0].any()  # less and less with more nodes
    doubled = np.array(
        [[2.0 if name in text.split(", ") else 1.0 for name in ("y", "z")] for text in domain["widened"]]
    )
    plain = model.stack_.predict(cases)
    np.testing.assert_allclose(told.scale, plain.scale * doubled * np.sqrt(1 + moves**2))
    assert domain["meshing"][0] == "" and "coarser than the training meshes" in domain["meshing"][3]
    assert not domain["inside"][3] and domain["meshing"][3] in domain["why"][3]
    real = np.abs(plain.mean - plain.mean[0])
    assert (real[3] > real[1]).all()
    with pytest.warns(CaseWarning) as caught:
        _, std = model.predict(coarse[3:], return_std=True)
    assert any("coarser than the training meshes" in str(one.message) for one in caught)
    np.testing.assert_allclose(std, told.std[3:])


def test_a_mesh_coarser_than_any_that_was_tried_says_so(model, coarse):
    influence = model.stack_.influence
    note = influence.expected(np.array([[2 * influence.tried[0]]])).notes[0]
    assert note.endswith("beyond what has been tested")


def test_one_note_for_all_such_cases(model, coarse):
    notes = case_notes(model.domain(coarse))
    assert notes["meshing"].count("coarser than the training meshes") == 1


def test_the_same_from_one_mesh_and_from_a_file(model, coarse, tmp_path):
    model.save(tmp_path / "m.swwl")
    again = load_model(tmp_path / "m.swwl")
    wanted, domain = model.predict_with_domain(coarse)
    found, verdict = again.predict_with_domain(coarse)
    np.testing.assert_array_equal(found.scale, wanted.scale)
    pd.testing.assert_frame_equal(verdict, domain)
    one = OneMesh.of(again, {"mesh": coarse["mesh"].iloc[3]})
    alone, told = one.predict_with_domain(again, coarse[["load"]].iloc[[3, 3]])
    np.testing.assert_allclose(alone.scale, wanted.scale[[3, 3]], rtol=1e-9)
    assert told["meshing"] == [domain["meshing"][3]] * 2


def test_older_files_know_nothing_of_it(model, coarse):
    state = plain_state(regressor_state(model))
    kept = {name: value for name, value in state.items() if name != "influence"}
    older = regressor_from_state(RobustGPRegressor, kept)
    assert older.stack_.influence is None and (older.domain(coarse)["meshing"] == "").all()
    other = state | {"influence": state["influence"] | {"columns": ["wing"]}}
    with pytest.raises(InputError, match="influence is that of"):
        regressor_from_state(RobustGPRegressor, other)


def test_the_order_of_rows_and_of_nodes_does_not_matter_for_the_verdict(model, coarse):
    def renumbered(mesh, seed):
        order = np.random.default_rng(seed).permutation(mesh.n_nodes)
        places = np.argsort(order)
        return Mesh(mesh.points[order], {"line": places[mesh.cells["line"]]})

    other = coarse.assign(mesh=[renumbered(mesh, k) for k, mesh in enumerate(coarse["mesh"])])[::-1]
    wanted = model.domain(coarse)["meshing"].tolist()
    assert model.domain(other)["meshing"].tolist()[::-1] == wanted


def test_kernels_on_nodes_move_with_finer_meshes_too():
    table = plates(40)
    model = RobustGPRegressor(SWWL("mesh", **SMALL) * Matern52("load"), n_starts=1).fit(table, "stiffness")
    assert embedded_columns([model.kernel_]) == ["mesh"]
    influence = model.stack_.influence
    assert influence is None or (influence.finer > 1e-6).all()


def test_graphs_and_numbers_have_no_meshes():
    table = contours(30, (20, 30))
    graphs = table.assign(mesh=[mesh.graph() for mesh in table["mesh"]])
    model = RobustGPRegressor(SWWL("mesh", **SMALL), n_starts=1, calibrate=False).fit(graphs[["mesh"]], table["y"])
    assert model.stack_.influence is None
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.predict(graphs[["mesh"]][:3])
    assert RobustGPRegressor(Matern52("y"), n_starts=1).fit(table[["y"]], table["y"] ** 2).stack_.influence is None
