"""The model that users get without naming a kernel: it works on every kind of mesh, and says what it leaves out."""

import warnings

import numpy as np
import pandas as pd
import pytest

from swwl import SWWL, Elliptic, Graph, InputError, Matern52, Mesh, PrincipalSWWL, RobustGPRegressor, load_model
from swwl.embedding.components import Span
from swwl.errors import GPWarning, MeshWarning
from swwl.regression.candidates import WORDS, default_kernels
from tests.helpers import SMALL, plate, plates
from tests.mesh.shapes import joined

QUICK = {"n_projections": 8, "n_quantiles": 20}


def column(meshes):
    return pd.Series(list(meshes), dtype=object)


def strip(width, twisted):
    """A closed band of quadrilaterals in space, of one side or of two."""
    n = 24
    angle = np.linspace(0, 2 * np.pi, n, endpoint=False)
    tilt = angle / 2 if twisted else 0 * angle
    sides = [
        np.stack([(2 + s * np.cos(tilt)) * np.cos(angle), (2 + s * np.cos(tilt)) * np.sin(angle), s * np.sin(tilt)], 1)
        for s in (-width, width)
    ]
    low, high = np.arange(n), np.arange(n) + n
    after_low, after_high = np.roll(low, -1), np.roll(high, -1)
    if twisted:
        after_low[-1], after_high[-1] = n, 0
    return Mesh(np.vstack(sides), {"quad": np.column_stack([low, after_low, after_high, high])})


def box(height, rng):
    """A box of hexahedra."""
    cells = [
        [[x + dx, y + dy, height * (z + dz)] for dz in (0, 1) for dx, dy in ((0, 0), (1, 0), (1, 1), (0, 1))]
        for x in range(2) for y in range(2) for z in range(2)
    ]  # fmt: skip
    return joined(cells, "hexahedron")


def octahedron(size):
    corners = size * np.array([[1, 0, 0], [-1, 0, 0], [0, 1, 0], [0, -1, 0], [0, 0, 1], [0, 0, -1.0]])
    faces = [[0, 2, 4], [2, 1, 4], [1, 3, 4], [3, 0, 4], [2, 0, 5], [1, 2, 5], [3, 1, 5], [0, 3, 5]]
    return Mesh(corners, {"triangle": faces})


def frame(height):
    """Lines in space, which have no skin."""
    points = [[0, 0, 0], [1, 0, 0], [0, 0, height], [1, 0, height], [0, 1, height]]
    return Mesh(points, {"line": [[0, 2], [1, 3], [2, 3], [2, 4]]})


MAKERS = {
    "plane": lambda size, rng: Mesh(*plate(40, int(rng.integers(99)), size)),
    "solid": box,
    "closed surface": lambda size, rng: octahedron(size),
    "Möbius strip": lambda size, rng: strip(0.3 * size, twisted=True),
    "lines in space": lambda size, rng: frame(size),
    "graph": lambda size, rng: Graph([[0.0], [size], [2 * size]], [(0, 1), (1, 2)]),
    "contour": lambda size, rng: Mesh(
        [[0, 0], [size, 0], [size, 1], [0, 1]], {"line": [[0, 1], [1, 2], [2, 3], [3, 0]]}
    ),
}


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::swwl.errors.GPWarning")
@pytest.mark.parametrize("kind", MAKERS)
def test_every_kind_of_mesh(kind, tmp_path):
    rng = np.random.default_rng(0)
    sizes, loads = rng.uniform(1, 2, 36), rng.uniform(1, 3, 36)
    meshes = [MAKERS[kind](size, rng) for size in sizes]
    table = pd.DataFrame({"mesh": column(meshes), "load": loads, "stress": loads * sizes**2})
    kernels = {}
    if kind == "lines in space":
        with pytest.warns(MeshWarning, match="Column 'mesh': the skin of the meshes is left out .* compared as graphs"):
            kernels = default_kernels(table[["mesh", "load"]], **QUICK)
    model = RobustGPRegressor(kernels or default_kernels(table[["mesh", "load"]], **QUICK)).fit(table[:28], "stress")
    assert set(model.candidates_["candidate"]) <= set(WORDS)
    assert model.weights_.to_numpy().sum() == pytest.approx(1)
    assert model.score(table[28:], "stress") > 0.9
    model.save(tmp_path / "m.swwl")
    again = load_model(tmp_path / "m.swwl")
    for ours, theirs in zip(model.predict_interval(table[28:]), again.predict_interval(table[28:]), strict=True):
        np.testing.assert_array_equal(ours, theirs)
    np.testing.assert_array_equal(again.leave_one_out().scale, model.leave_one_out().scale)
    pd.testing.assert_series_equal(again.importance_, model.importance_)


@pytest.fixture(scope="module")
def table():
    frame = plates(60)
    return frame.assign(kind=pd.Categorical(["a", "b"] * 30))


@pytest.fixture(scope="module")
def stack(table):
    inputs = table.drop(columns=["stiffness", "weight"])
    return RobustGPRegressor(default_kernels(inputs[:45], **QUICK)).fit(table[:45], ["stiffness", "weight"])


@pytest.mark.slow
def test_a_stack_answers_all_that_one_kernel_does(stack, table):
    new = table[45:]
    mean, std = stack.predict(new, return_std=True)
    assert mean.shape == std.shape == (15, 2)
    again, cov = stack.predict(new, return_cov=True)
    np.testing.assert_allclose(again, mean)
    np.testing.assert_allclose(np.sqrt(np.einsum("kii->ik", cov)), std, rtol=1e-6)
    draws = stack.sample(new, 3000, random_state=0, include_nugget=True)
    np.testing.assert_allclose(draws.mean(axis=0), mean, atol=6 * std.max() / np.sqrt(3000))
    np.testing.assert_array_equal(draws, stack.sample(new, 3000, random_state=0, include_nugget=True))
    left_out = stack.leave_one_out()
    assert left_out.mean.shape == (45, 2)
    assert stack.left_out_by_ == "cross-validation"
    assert stack.importance_.mean().to_numpy() == pytest.approx(1)
    assert list(stack.importance_.index) == ["mesh", "load", "kind"]
    assert len(stack.candidates_) == 10  # five for each of two targets
    assert [member.name for member in stack.members_] == list(stack.weights_.index)
    assert repr(stack.kernel_).startswith("KernelStack(")


@pytest.mark.slow
def test_one_target_at_a_time_gives_the_same(stack, table):
    inputs = table.drop(columns=["stiffness", "weight"])
    one = RobustGPRegressor(default_kernels(inputs[:45], **QUICK)).fit(inputs[:45], table["weight"][:45])
    # Members that count for one target alone are kept for both, so that the last percent may differ.
    np.testing.assert_allclose(one.predict(inputs[45:]), stack.predict(table[45:])[:, 1], rtol=0.01)
    kernels = default_kernels(inputs[:45], **QUICK)
    shared = RobustGPRegressor(kernels, share_ranges=True).fit(table[:45], ["stiffness", "weight"])
    assert shared.predict(table[45:]).shape == (15, 2)
    assert len(shared.candidates_) == 10


@pytest.mark.parametrize(
    ("made", "name", "parts"),
    [
        (octahedron, "skin, few ranges", ["mesh (components)"]),
        (
            lambda size: Graph([[0.0], [size]], [(0, 1)]),
            "nodes, few ranges",
            [f"mesh (iteration {h}, components)" for h in range(4)],
        ),
    ],
    ids=["meshes", "graphs"],
)
def test_few_rows_get_one_more_candidate_of_few_ranges(made, name, parts):
    sizes = np.linspace(1, 2, 120)
    table = pd.DataFrame({"mesh": column(map(made, sizes)), "load": sizes})
    few = default_kernels(table[:119], **QUICK)
    assert [*default_kernels(table, **QUICK), name] == list(few)
    assert name not in default_kernels(table[:20], few_rows=False, **QUICK)
    model = RobustGPRegressor(few[name]).fit(table[:20], sizes[:20] ** 2)
    assert list(model.ranges_.index) == [*parts, "load"]


def test_users_may_stack_kernels_of_their_own(table, tmp_path):
    kernels = [
        SWWL("mesh", **SMALL) * Matern52("load"),
        Elliptic(PrincipalSWWL("mesh", n_components=3, **SMALL), "load"),
    ]
    model = RobustGPRegressor(kernels).fit(table[:45], "stiffness")
    assert model.score(table[45:], "stiffness") > 0.9
    assert model.candidates_["candidate"].tolist() == [repr(kernel) for kernel in kernels]
    model.save(tmp_path / "m.swwl")
    np.testing.assert_array_equal(load_model(tmp_path / "m.swwl").predict(table[45:]), model.predict(table[45:]))
    assert set(load_model(tmp_path / "m.swwl").kernel_.kernels) == set(model.weights_.index)
    with pytest.raises(ValueError, match="list of kernels is empty"):
        RobustGPRegressor([]).fit(table, "weight")


def test_kernels_that_hardly_count_are_left_out(tmp_path):
    x = np.linspace(0, 1, 40)
    table = pd.DataFrame({"x": x, "noise": np.random.default_rng(0).normal(size=40), "y": np.sin(5 * x)})
    model = RobustGPRegressor({"good": Matern52("x"), "useless": Matern52("noise")}).fit(table, "y")
    assert list(model.weights_.index) == ["good"]
    assert model.candidates_["candidate"].tolist() == ["good", "useless"]
    assert list(model.importance_.index) == list(model.feature_names_in_) == ["x"]
    model.save(tmp_path / "m.swwl")
    again = load_model(tmp_path / "m.swwl")
    np.testing.assert_array_equal(again.predict(table), model.predict(table))
    assert again.left_out_by_ == "cross-validation"


def test_a_stack_of_one_kernel_is_that_kernel(table):
    kernel = SWWL("mesh", **SMALL) * Matern52("load")
    alone, stacked = (RobustGPRegressor(k).fit(table[:45], "stiffness") for k in (kernel, [kernel]))
    for ours, theirs in zip(alone.predict_interval(table[45:]), stacked.predict_interval(table[45:]), strict=True):
        np.testing.assert_array_equal(ours, theirs)


@pytest.mark.slow
def test_two_columns_of_meshes_and_few_rows():
    rng = np.random.default_rng(1)
    first, second = rng.uniform(1, 2, (2, 24))
    columns = {"part": column(map(octahedron, first)), "graph": column(Graph([[0.0], [s]], [(0, 1)]) for s in second)}
    table = pd.DataFrame(columns | {"y": first * second})
    model = RobustGPRegressor(default_kernels(table.drop(columns="y"), **QUICK)).fit(table[:18], "y")
    assert set(model.feature_names_in_) == {"part", "graph"}
    assert model.score(table[18:], "y") > 0.5
    few = RobustGPRegressor(default_kernels(table[:6].drop(columns="y"), **QUICK)).fit(table[:6], "y")
    assert (few.weights_ == 0.2).all(axis=None)  # too few rows for folds
    assert few.left_out_by_ == "leave-one-out"


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::swwl.errors.LooseNodesWarning")
def test_a_node_that_no_cell_uses_changes_nothing():
    """Not even on meshes whose center is zero but for rounding."""
    rng = np.random.default_rng(3)
    sizes = rng.uniform(1, 2, 24)
    table = pd.DataFrame({"mesh": column(map(octahedron, sizes)), "y": sizes**2})
    model = RobustGPRegressor(default_kernels(table[["mesh"]], **QUICK)).fit(table, "y")
    plain = octahedron(1.5)
    stray = Mesh(np.vstack([plain.points, [[9.0, 9.0, 9.0]]]), plain.cells)
    np.testing.assert_allclose(*(model.predict({"mesh": mesh}) for mesh in (plain, stray)), rtol=1e-9)


def test_meshes_that_are_all_the_same():
    load = np.linspace(0, 1, 24)
    table = pd.DataFrame({"mesh": column([octahedron(1.0)] * 24), "load": load, "y": np.sin(4 * load)})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", GPWarning)
        model = RobustGPRegressor(default_kernels(table[["mesh", "load"]], **QUICK)).fit(table, "y")
    assert model.score(table, "y") > 0.99


def test_too_large_a_request_is_refused_before_any_work():
    table = pd.DataFrame({"mesh": column(map(octahedron, np.linspace(1, 2, 20))), "y": np.arange(20.0)})
    with pytest.raises(InputError, match="The embeddings would take .* GB, but this machine has"):
        RobustGPRegressor(default_kernels(table[["mesh"]], n_projections=10**8, n_quantiles=10**6)).fit(table, "y")
    with pytest.raises(InputError, match="n_jobs must be a number of workers"):
        RobustGPRegressor(n_jobs=0).fit(table, "y")


def test_rows_left_out_are_known_by_their_projection():
    """Against least squares on the rows themselves; a row in the span of the others keeps its coordinates."""
    rng = np.random.default_rng(2)
    rows = rng.normal(size=(12, 30))
    rows[3] = 0.5 * (rows[0] + rows[1])
    directions = np.linalg.qr(rng.normal(size=(30, 4)))[0]
    z = rows @ directions
    train, out = np.array([0, 1, 2, 4, 5, 6, 7, 8]), np.array([3, 9, 10, 11])
    mean = rows[train].mean(axis=0)
    weights = np.linalg.lstsq((rows[train] - mean).T, (rows[out] - mean).T, rcond=None)[0]
    expected = mean @ directions + weights.T @ ((rows[train] - mean) @ directions)
    found = Span(rows).coordinates(train, out, z)
    np.testing.assert_allclose(found, expected, atol=1e-5)
    np.testing.assert_allclose(found[0], z[3], atol=1e-5)
    order = rng.permutation(len(train))
    np.testing.assert_allclose(Span(rows).coordinates(train[order], out, z), found, atol=1e-6)
