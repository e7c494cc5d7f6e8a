"""Named groups and bodies in kernels: what the default makes of them, and what is said of new meshes."""

import numpy as np
import pandas as pd
import pytest

from swwl import Mesh, RobustGPRegressor, load_model
from swwl.errors import InputError
from swwl.kernels import BodySets, Elliptic, GroupMeasures
from swwl.kernels.named import named_parts
from swwl.regression.candidates import default_kernels
from tests.embedding.test_bodies import A, B, C, channel


def beam(left=0.3, right=0.1, held="left", n=24, names=("held", "loaded")):
    """A tapered beam of length one, held at one end and loaded at the other; deflection by the theory of beams."""
    x = np.linspace(0, 1, n + 1)
    height = left + (right - left) * x
    y = np.linspace(-0.5, 0.5, 5)
    points = np.column_stack([np.repeat(x, 5), (height[:, None] * y).ravel()])
    number = np.arange(len(points)).reshape(n + 1, 5)
    quads = np.stack([number[:-1, :-1], number[1:, :-1], number[1:, 1:], number[:-1, 1:]], axis=-1).reshape(-1, 4)
    ends = [number[0], number[-1]] if held == "left" else [number[-1], number[0]]
    s = np.linspace(0, 1, 2001)
    inertia = ((left + (right - left) * s) ** 3) / 12
    arm = (1 - s) if held == "left" else s
    deflection = np.trapezoid(arm**2 / inertia, s)
    return Mesh(points, {"quad": quads}, groups=dict(zip(names, ends, strict=True))), float(deflection)


def beams(n, seed, **options):
    rng = np.random.default_rng(seed)
    rows = [
        beam(*rng.uniform(0.1, 0.4, size=2), held=rng.choice(["left", "right"]), n=int(rng.integers(16, 32)), **options)
        for _ in range(n)
    ]
    return pd.DataFrame({"mesh": [mesh for mesh, _ in rows]}), pd.Series([y for _, y in rows], name="deflection")


def test_kernels_are_positive_definite():
    meshes = [channel(A), channel(B), channel(A, B), channel(B, C), channel(A, C), channel(A, B, C)]
    for factor in (
        GroupMeasures("mesh", groups=["body"]),
        BodySets("mesh", group="body"),
        BodySets("mesh", together=True),
    ):
        rows = factor.fit(meshes)
        squares = sum(np.asarray(block.dense()) ** 2 for block in factor.blocks(rows))
        assert np.linalg.eigvalsh(np.exp(-squares / squares.mean())).min() > -1e-10
        names = factor.range_names()
        assert len(names) == sum(block.n_ranges for block in factor.blocks(rows)) and len(set(names)) == len(names)


def waisted(waist, n=24):
    """A beam whose ends are always the same, narrower in between."""
    mesh, _ = beam(0.5, 0.5, n=n)
    x, y = mesh.points.T
    return Mesh(np.column_stack([x, y * (1 - (1 - 2 * waist) * np.sin(np.pi * x))]), mesh.cells, groups=mesh.groups)


def test_which_parts_tell_meshes_apart():
    table, _ = beams(20, 0)
    assert sorted(named_parts(table["mesh"]).single) == ["held", "loaded"] and named_parts(table["mesh"]).sets == []
    same = pd.Series([beam(0.3, right)[0] for right in (0.1, 0.1, 0.1)])
    assert named_parts(same) == ([], [], [])
    plain = pd.Series([channel(A, names=("a",)), channel(A, B)]).map(lambda mesh: Mesh(mesh.points, mesh.cells))
    assert named_parts(plain) == ([], [None], [])
    flows = pd.Series([channel(A, names=("body1",)), channel(A, B, names=("body1", "body2"))])
    assert named_parts(flows) == (["body*"], ["body*"], [])
    either = pd.Series([beam()[0], beam(0.1, 0.4, "right", names=("Held", "LOADED"))[0]])
    assert sorted(named_parts(either).single) == ["held", "loaded"]
    some = pd.Series([beam()[0], beam(0.1, 0.4, "right", names=("held", "pushed"))[0]])
    assert named_parts(some).single == ["held"]
    assert [sorted(pair) for pair in named_parts(table["mesh"]).pairs] == [["held", "loaded"]]
    waists = pd.Series([waisted(waist) for waist in (0.2, 0.3, 0.4)])
    assert named_parts(waists) == ([], [], [("held", "loaded")])  # groups are where they were, the way is not
    assert named_parts(pd.Series([Mesh([[0.0, 0], [1, 0]], {})] * 2)) == ([], [], [])


def test_the_default_has_candidates_for_groups_where_they_differ():
    table, _ = beams(20, 0)
    assert list(default_kernels(table))[:2] == ["named groups", "named groups and skin"]
    assert "named groups" not in default_kernels(table, groups=False)
    bare = table.assign(mesh=[Mesh(mesh.points, mesh.cells) for mesh in table["mesh"]])
    assert "named groups" not in default_kernels(bare)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::swwl.errors.CaseWarning")
def test_where_a_beam_is_held_is_learned_from_its_groups(tmp_path):
    table, y = beams(140, 0)
    train, test = slice(0, 60), slice(60, None)
    errors = {}
    for groups in (True, False):
        model = RobustGPRegressor(groups=groups).fit(table[train], y[train])
        errors[groups] = np.sqrt(np.mean((model.predict(table[test]) - y[test]) ** 2))
        if groups:
            model.save(tmp_path / "beams.swwl")
            again = load_model(tmp_path / "beams.swwl")
            np.testing.assert_array_equal(again.predict(table[test]), model.predict(table[test]))
            with pytest.raises(InputError, match=r"row 0.*has no group 'held'|no group 'held'"):
                model.predict(pd.DataFrame({"mesh": [Mesh(table["mesh"][0].points, table["mesh"][0].cells)]}))
    assert errors[True] < 0.3 * errors[False]


@pytest.mark.slow
def test_the_domain_says_what_no_training_mesh_has():
    rng = np.random.default_rng(0)

    def flow(count):
        x = rng.permutation([0.6, 1.2, 1.8, 2.4])[:count] + rng.uniform(-0.1, 0.1, size=count)
        others = rng.uniform([0.3, 0.08, -1.0], [0.7, 0.14, 1.0], size=(count, 3))
        return channel(*np.column_stack([x, others]))

    table = pd.DataFrame({"mesh": [flow(1 + k % 2) for k in range(110)]})
    y = np.array([mesh.groups["body"].size for mesh in table["mesh"]]) + rng.normal(size=110)
    kernel = Elliptic(GroupMeasures("mesh", groups=["body"]), BodySets("mesh", group="body", together=True))
    model = RobustGPRegressor(kernel).fit(table, y)
    found = model.domain(pd.DataFrame({"mesh": [flow(3) for _ in range(20)]}))
    assert (~found["inside"].astype(bool)).all() and set(found["kind"]) == {"other bodies or places"}
    assert found["why"].str.startswith("three bodies in 'body' where training cases have one or two").all()
    same = model.domain(pd.DataFrame({"mesh": [flow(1 + k % 2) for k in range(40)]}))
    assert same["inside"].astype(bool).mean() > 0.85
    assert not same["why"].str.contains("bodies").any()


def test_the_way_between_groups_counts(tmp_path):
    waists = np.linspace(0.1, 0.45, 24)
    table = pd.DataFrame({"mesh": [waisted(waist, 16 + k % 9) for k, waist in enumerate(waists)]})
    kernel = Elliptic(GroupMeasures("mesh", groups=["held", "loaded"], pairs=[("held", "loaded")]))
    model = RobustGPRegressor(kernel).fit(table, -np.log(waists))
    assert model.stack_.members[0].kernel.factors[0].range_names() == ["mesh (held to loaded: resistance)"]
    new = pd.DataFrame({"mesh": [waisted(waist) for waist in (0.15, 0.33)]})
    np.testing.assert_allclose(model.predict(new), -np.log([0.15, 0.33]), atol=0.02)
    model.save(tmp_path / "way.swwl")
    np.testing.assert_array_equal(load_model(tmp_path / "way.swwl").predict(new), model.predict(new))
    factor = GroupMeasures("mesh", groups=["held"], pairs=[("held", "loaded")])
    factor.fit(table["mesh"])
    assert factor.unlike(factor.represent([waisted(0.02)])) == [
        ["the way from held to loaded is narrower or longer than in any training case"]
    ]
    with pytest.raises(InputError, match="no group 'loaded'"):
        bare = waisted(0.2)
        model.predict(pd.DataFrame({"mesh": [Mesh(bare.points, bare.cells, groups={"held": bare.groups["held"]})]}))


def test_the_default_sees_a_way_between_groups_that_stay_where_they_are():
    table = pd.DataFrame({"mesh": [waisted(waist) for waist in np.linspace(0.1, 0.45, 12)]})
    assert list(default_kernels(table))[:2] == ["named groups", "named groups and skin"]


def test_bad_options():
    for pairs in ("held", ["held"], [("held",)], [("held", 3)]):
        with pytest.raises(InputError, match="pairs must be a list of two names"):
            GroupMeasures("mesh", groups=["held"], pairs=pairs).fit([beam()[0]])
    with pytest.raises(InputError, match="groups must be a list of names of groups"):
        GroupMeasures("mesh", groups="held").fit([beam()[0]])
