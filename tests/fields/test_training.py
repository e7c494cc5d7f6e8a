"""Nodes correspond where most cells join the same nodes, and every mesh file is read once."""

import os
from collections import Counter

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from swwl import FieldRegressor, InputError, Mesh, load_model
from swwl.datasets import make_channel
from swwl.fields.geometry.descriptors import between
from swwl.fields.one_mesh import PreparedFields
from swwl.fields.training import cell_codes, correspond, learned_mesh
from swwl.mesh.io.formats import read_file
from swwl.storage.memory import Memory
from tests.fields.geometry.test_groups import slit
from tests.helpers import plain_state


def grid(n, flips, rng=None):
    """A grid of n x n nodes in triangles; a share of the quadrilaterals has the other diagonal."""
    x, y = np.meshgrid(np.linspace(0, 1, n), np.linspace(0, 1, n))
    points = np.column_stack([x.ravel(), y.ravel()])
    corner = (np.arange(n - 1)[:, None] * n + np.arange(n - 1)).ravel()
    a, b, c, d = corner, corner + 1, corner + n + 1, corner + n
    flipped = np.zeros(len(a), bool) if rng is None else rng.random(len(a)) < flips
    one = np.where(flipped[:, None], np.column_stack([a, b, d]), np.column_stack([a, b, c]))
    two = np.where(flipped[:, None], np.column_stack([b, c, d]), np.column_stack([a, c, d]))
    return Mesh(points, np.vstack([one, two]))


@given(seed=st.integers(0, 10**6), n=st.integers(3, 9))
def test_order_of_cells_and_of_their_nodes_does_not_count(seed, n):
    mesh, rng = grid(n, 0), np.random.default_rng(seed)
    cells = rng.permuted(mesh.cells["triangle"], axis=1)[rng.permutation(len(mesh.cells["triangle"]))]
    np.testing.assert_array_equal(cell_codes(mesh), cell_codes(Mesh(mesh.points, cells)))


def test_some_diagonals_may_differ_and_numbers_of_nodes_may_not():
    codes = cell_codes(grid(12, 0))
    assert correspond(codes, cell_codes(grid(12, 0.2, np.random.default_rng(0))))
    assert not correspond(codes, cell_codes(grid(11, 0)))
    shuffled = grid(12, 0)
    order = np.random.default_rng(1).permutation(shuffled.n_nodes)
    renumbered = Mesh(shuffled.points[np.argsort(order)], order[shuffled.cells["triangle"]])
    assert not correspond(codes, cell_codes(renumbered))


def test_fields_on_flipped_diagonals_are_learned_node_by_node():
    rng = np.random.default_rng(0)
    rows = []
    for load in rng.uniform(1, 2, 16):
        mesh = grid(6, 0.2, rng)
        rows.append({"mesh": mesh.with_fields({"u": load * mesh.points[:, 0] ** 2}), "load": load})
    table = pd.DataFrame(rows)
    model = FieldRegressor().fit(table[:12], "u")
    assert model.common_topology_
    found = model.predict(table[12:])
    for one, mesh in zip(found, table["mesh"][12:], strict=True):
        np.testing.assert_allclose(one["u"], mesh.fields["u"], atol=0.02)
    with pytest.raises(InputError, match="different cells"):
        model.predict(pd.DataFrame({"mesh": [grid(7, 0)], "load": [1.5]}))


def plates(n, folder, same=False):
    """A table of mesh files that carry a field."""
    rng = np.random.default_rng(0)
    rows = []
    for k in range(n):
        mesh, load = grid(5 if same else 5 + k % 3, 0), rng.uniform(1, 2)
        mesh = Mesh(mesh.points * [1 + load, 1], mesh.cells["triangle"], {"u": load * mesh.points[:, 0]})
        mesh.write(folder / f"{k}.vtu")
        rows.append({"mesh": str(folder / f"{k}.vtu"), "load": load})
    return pd.DataFrame(rows)


@pytest.fixture
def counted(monkeypatch):
    """How often every file is read."""
    counts = Counter()

    def read(path, *rest):
        counts[os.fspath(path)] += 1
        return read_file(path, *rest)

    for module in ("swwl.mesh.io.convert", "swwl.mesh.io.formats"):
        monkeypatch.setattr(f"{module}.read_file", read)
    return counts


@pytest.mark.slow
@pytest.mark.parametrize("same", [False, True], ids=["any topology", "shared cells"])
def test_every_file_is_read_once_by_a_fit_and_once_by_a_prediction(same, tmp_path, counted):
    table = plates(13, tmp_path, same)
    model = FieldRegressor(n_modes=2, calibrate=False).fit(table[:10], "u")
    assert model.common_topology_ == same
    assert counted == dict.fromkeys(table["mesh"][:10], 1)
    counted.clear()
    new = pd.concat([table[10:], table[12:]], ignore_index=True)  # one file in two rows
    cases = model.cases(new)
    cases.predict_meshes(), cases.derived("max"), cases.domain
    assert counted == dict.fromkeys(table["mesh"][10:], 1)


@pytest.mark.slow
def test_files_that_do_not_fit_into_memory_are_read_again_with_the_same_result(tmp_path, counted, monkeypatch):
    table = plates(11, tmp_path)
    wanted = FieldRegressor(n_modes=2, calibrate=False).fit(table[:10], "u").predict(table[10:], widen=False)[0]["u"]
    counted.clear()
    monkeypatch.setattr("swwl.fields.training._MOST_NODES_KEPT", 100)
    found = FieldRegressor(n_modes=2, calibrate=False).fit(table[:10], "u")
    assert counted[table["mesh"][0]] == 1 and counted[table["mesh"][9]] > 1
    np.testing.assert_array_equal(found.predict(table[10:], widen=False)[0]["u"], wanted)


@pytest.mark.slow
def test_kernels_find_kept_embeddings_of_files_by_their_paths(tmp_path, counted):
    table = plates(10, tmp_path)
    memory = Memory(tmp_path / ".swwl-cache")
    FieldRegressor(n_modes=2, calibrate=False).fit(table, "u", memory=memory)
    again = Memory(tmp_path / ".swwl-cache")
    FieldRegressor(n_modes=2, calibrate=False).fit(table, "u", memory=again)
    assert {os.fspath(path) for path in again.found} == set(table["mesh"])


def channels(n):
    """Channels of several heights and meshes, and what is left of a pressure on the way to their outlets."""
    rows, rng = [], np.random.default_rng(0)
    for k in range(n):
        mesh = slit(4 + k % 3, rng.uniform(0.3, 0.6))
        field = between(mesh, "inlet", "outlet", 1.0)[:, 1]
        load = rng.uniform(1, 2)
        rows.append({"mesh": mesh.with_fields({"p": load * field / 100}), "load": load})
    return pd.DataFrame(rows)


@pytest.fixture(scope="module")
def by_groups():
    table = channels(30)
    recipe = {"box": 0.5, "to inlet": 0.5, "to outlet": 0.5, "between": 0.3}
    return FieldRegressor(n_modes=4, basis_size=30, descriptors=recipe).fit(table[:24], "p"), table[24:]


def test_groups_are_among_what_is_compared():
    """What was not chosen is not asked of new meshes."""
    table = channels(20)
    model = FieldRegressor(n_modes=2, basis_size=20, calibrate=False).fit(table, "p")
    assert {"groups", "lags, box"} <= set(model.choices_["descriptors"])
    chosen = model.choices_.set_index("chosen")["descriptors"][True]
    assert bool(model._geometry.describer.groups) == (chosen == "groups")


def test_fields_are_told_by_groups(by_groups):
    model, new = by_groups
    describer = model._geometry.describer
    assert (describer.groups, describer.pair, describer.around) == (["inlet", "outlet"], ("inlet", "outlet"), False)
    for found, mesh in zip(model.predict(new), new["mesh"], strict=True):
        truth = mesh.fields["p"]
        assert np.sqrt(((found["p"] - truth) ** 2).mean()) < 0.05 * np.abs(truth).max()


def exchanged(mesh):
    groups = {"inlet": mesh.groups["outlet"].faces["line"], "outlet": mesh.groups["inlet"].faces["line"]}
    return Mesh(mesh.points, mesh.cells, mesh.fields, groups=groups)


def test_groups_at_other_places_put_a_mesh_outside(by_groups, tmp_path):
    """Whatever kernel was chosen: descriptors that know groups are enough; even few training cases tell."""
    model, new = by_groups
    table = new.assign(mesh=pd.Series([exchanged(mesh) for mesh in new["mesh"]], new.index, dtype=object))
    model.save(tmp_path / "again.swwl")
    for own in (model, load_model(tmp_path / "again.swwl")):
        found = own.domain(table)
        assert (found["inside"] == False).all() and (found["kind"] == "other bodies or places").all()  # noqa: E712
        assert found["why"].str.contains("'inlet' is at another place than in any training case").all()
        assert own.domain(new)["inside"].isna().all()
    one = PreparedFields(model, table["mesh"].iloc[0]).cases(table[["load"]].iloc[:2])
    assert (one.domain["kind"] == "other bodies or places").all()


def test_a_new_mesh_without_a_group_is_named(by_groups):
    model, new = by_groups
    odd = new["mesh"].iloc[1]
    odd = Mesh(odd.points, odd.cells, name="odd.vtu", groups={"inlet": odd.groups["inlet"]})
    table = pd.DataFrame({"mesh": pd.Series([new["mesh"].iloc[0], odd], dtype=object), "load": [1.0, 1.0]})
    with pytest.raises(InputError, match=r"Mesh 1 \(odd.vtu\).* no group 'outlet'"):
        model.predict(table)


def test_models_of_groups_are_stored_and_older_ones_know_none(by_groups, tmp_path):
    model, new = by_groups
    model.save(tmp_path / "g.swwl")
    again = load_model(tmp_path / "g.swwl")
    for one, other in zip(model.predict(new), again.predict(new), strict=True):
        np.testing.assert_allclose(one["p"], other["p"], rtol=1e-10)
    assert again._geometry.describer.pair == ("inlet", "outlet")
    state = plain_state(
        FieldRegressor(n_modes=2, basis_size=20, calibrate=False).fit(bare(channels(12)), "p").get_state()
    )
    for name in ("groups", "pair", "around"):
        del state["describer"][name]
    older = FieldRegressor.from_state(state)._geometry.describer
    assert (older.groups, older.pair, older.around) == ([], None, False)


def bare(table):
    """The same meshes without groups."""
    meshes = [Mesh(mesh.points, mesh.cells, mesh.fields) for mesh in table["mesh"]]
    return table.assign(mesh=pd.Series(meshes, table.index, dtype=object))


def test_bodies_of_any_number_are_told_without_groups():
    meshes = make_channel(12, n_nodes=500, random_state=3)["mesh"]
    table = bare(pd.DataFrame({"mesh": meshes}))
    model = FieldRegressor(n_modes=2, basis_size=20, calibrate=False).fit(table, "pressure")
    describer, chosen = model._geometry.describer, model.choices_.set_index("chosen")["descriptors"][True]
    assert (describer.groups, describer.pair, describer.around) == ([], None, chosen == "bodies")
    assert "bodies" in set(model.choices_["descriptors"])
    assert np.isfinite(model.predict(table[:1])[0]["pressure"]).all()


def test_meshes_one_cell_thick_are_told_by_the_groups_of_the_plane_ones(by_groups):
    model, new = by_groups
    plane = new["mesh"].iloc[0]
    thick = extruded(plane)
    describer = model._geometry.describer
    one, other = describer.blocks(plane), describer.blocks(learned_mesh(0, thick, True))
    order = np.lexsort(plane.points.T.round(9)), np.lexsort(learned_mesh(0, thick, True).points.T.round(9))
    for name in one:
        np.testing.assert_allclose(other[name][order[1]], one[name][order[0]], rtol=1e-3, atol=1e-3)


def extruded(mesh):
    """A plane mesh of quadrilaterals as a layer of hexahedra."""
    n = mesh.n_nodes
    points = np.concatenate([np.column_stack([mesh.points, np.full(n, z)]) for z in (0.0, 0.02)])
    cells = mesh.cells["quad"]
    sides = {name: group.faces["line"] for name, group in mesh.groups.items()}
    groups = {name: {"quad": np.hstack([lines, lines[:, ::-1] + n])} for name, lines in sides.items()}
    return Mesh(points, {"hexahedron": np.hstack([cells, cells + n])}, groups=groups)
