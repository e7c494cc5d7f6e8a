"""Derivatives along motions of bodies against central differences of predictions of moved meshes of any topology."""

import numpy as np
import pandas as pd
import pytest

from swwl import BodySets, Elliptic, GroupMeasures, InputError, Matern52, Mesh, RobustGPRegressor
from swwl.datasets.channel import CHANNEL
from swwl.datasets.generator import Request, run
from swwl.errors import PlaneMeshWarning
from swwl.mesh.shape.motions import group_motions, moved_group
from swwl.regression.sensitivity import motion_table, slope_table
from tests.helpers import assert_slope
from tests.mesh.shape.test_motions import BLOCK
from tests.mesh.shapes import extruded

STEPS = {"length": (1e-3, 1e-4, 1e-5, 1e-6), "degree": (1e-1, 1e-2, 1e-3, 1e-4), "percent": (1e-1, 1e-2, 1e-3, 1e-4)}
OPTIONS = {"calibrate": False, "n_starts": 1, "regimes": "one", "outliers": "keep", "target_scale": "identity"}


def of_body(group):
    return [
        GroupMeasures("mesh", groups=[group]),
        BodySets("mesh", group=group),
        BodySets("mesh", group=group, together=True),
    ]


def change_of(motion, h):
    """Return what moves a body by h along a motion, as ``moved_group`` takes it."""
    d = motion.velocity.shape[1]
    along = h * np.eye(d)["xyz".index(motion.kind[-1])] if motion.kind[-1] in "xyz" else h
    return {{"length": "shift", "degree": "degrees", "percent": "percent"}[motion.per]: along}


def check(model, row, group, rtol=1e-5, most=1e-4, numbers=(0, 1), kinds=None):
    """Compare derivatives of means along all motions with differences; small ones as exactly as the largest."""
    mesh = row["mesh"].iloc[0]
    found = model.sensitivity(row, motions=group)
    chosen = [motion for motion in found[0].moves if motion.body in numbers and motion.kind in (kinds or motion.kind)]
    assert chosen

    def values(motion, h):
        moved = moved_group(mesh, group, motion.body, **change_of(motion, h))
        return [own.value for own in model.sensitivity(row.assign(mesh=[moved]), std=False)]

    for motion in chosen:
        derivatives = [own.along[motion.name] for own in found]
        like = [other.name for other in found[0].moves if other.per == motion.per]
        scale = np.abs([own.along[like] for own in found]).max(axis=1)
        assert_slope(derivatives, lambda h, motion=motion: values(motion, h), rtol, scale=scale, most=most,
                     steps=STEPS[motion.per])  # fmt: skip


@pytest.fixture(scope="module")
def table():
    """Channels around one to four bodies, each with a mesh of its own."""
    samples = list(run(Request(CHANNEL, 500, 0, True), list(range(32)), lambda sample: sample))
    columns = {"mesh": [sample.mesh for sample in samples]}
    columns |= {"viscosity": [sample.scalars["viscosity"] for sample in samples]}
    columns |= {name: [sample.targets[name] for sample in samples] for name in ("drag", "lift")}
    return pd.DataFrame(columns)


@pytest.fixture(scope="module")
def model(table):
    return RobustGPRegressor(Elliptic(*of_body("body"), "viscosity"), **OPTIONS).fit(table[:30], ["drag", "lift"])


@pytest.fixture(scope="module")
def case(table):
    return table[30:31].reset_index(drop=True)


@pytest.mark.slow
def test_derivatives_are_those_of_moved_channels(model, case):
    check(model, case, "body")


@pytest.mark.slow
def test_derivatives_of_the_default_model(table, case):
    """Quantiles of the skin have kinks, so that differences tell four digits."""
    model = RobustGPRegressor().fit(table[:30].drop(columns="lift"), "drag")
    check(model, case, "body", rtol=1e-4, most=2e-3, numbers=(1,))


@pytest.mark.slow
def test_adjoints_of_groups_along_any_motion_of_the_nodes(model, case):
    mesh = case["mesh"][0]
    rng = np.random.default_rng(0)
    waves = [0.1 * np.sin(mesh.points @ rng.normal(size=(2, 2)) * 3) for _ in range(3)]
    # the box around the mesh has flat ends, whose nodes share its gradient equally: they stay
    waves = [wave * (np.prod(mesh.points * ([3, 1] - mesh.points), axis=1) > 1e-9)[:, None] for wave in waves]
    found = model.sensitivity(case, along=waves, std=False)
    for k, wave in enumerate(waves):

        def values(h, wave=wave):
            moved = Mesh(mesh.points + h * wave, mesh.cells, groups=mesh.groups)
            return [own.value for own in model.sensitivity(case.assign(mesh=[moved]), std=False)]

        scale = np.abs([own.along for own in found]).max(axis=1)
        assert_slope([own.along.iloc[k] for own in found], values, 1e-5, scale=scale, steps=(1e-2, 1e-3, 1e-4, 1e-5))


@pytest.mark.slow
@pytest.mark.parametrize("turns", [True, False], ids=["turned and scaled", "shifted alone"])
def test_derivatives_in_space(turns):
    """Numbers of bodies that are the same in all training meshes but for rounding have no range."""
    rng = np.random.default_rng(0)
    meshes, y = [], []
    for _ in range(30):
        shift, degrees, percent = rng.uniform(-0.2, 0.2, 3), rng.uniform(-9, 9, 3) * turns, rng.uniform(-20, 20) * turns
        meshes.append(moved_group(BLOCK, "hole", shift=shift, degrees=degrees, percent=percent))
        y.append(shift[0] - shift[2] ** 2 + 0.01 * percent + np.sin(np.radians(degrees[1])))
    table = pd.DataFrame({"mesh": meshes, "y": y})
    model = RobustGPRegressor(Elliptic(*of_body("hole")), **OPTIONS).fit(table[:29], "y")
    (found,) = model.sensitivity(table[29:], motions="hole")
    kinds = ["x", "y", "z", "rotation x", "rotation y", "rotation z", "size"]
    assert found.motions["motion"].tolist() == kinds
    assert found.along["hole #1: x"] == pytest.approx(1.0, abs=0.2)  # as the target was made
    check(model, table[29:].reset_index(drop=True), "hole", kinds=kinds if turns else kinds[:3])


def test_a_layer_has_the_derivatives_of_its_plane_mesh(table):
    rows = table[:12].assign(y=[mesh.points[mesh.groups["body"].nodes, 0].mean() for mesh in table["mesh"][:12]])
    thick = rows.assign(mesh=[extruded(mesh) for mesh in rows["mesh"]])
    kernel = Elliptic(GroupMeasures("mesh", groups=["body"]))
    with pytest.warns(PlaneMeshWarning):
        models = [RobustGPRegressor(kernel, **OPTIONS).fit(own, "y") for own in (rows, thick)]
    plane, layer = (own.sensitivity(t[3:4], motions="body")[0] for own, t in zip(models, (rows, thick), strict=True))
    assert layer.motions["motion"].tolist() == plane.motions["motion"].tolist()
    np.testing.assert_allclose(layer.along, plane.along, rtol=1e-3, atol=1e-6 * np.abs(plane.along).max())


def test_the_shift_of_a_group_is_the_sum_over_its_bodies(model, case):
    found = model.sensitivity(case, "drag", motions="body")[0].motions
    assert found["body"].max() > 1
    for kind in ("x", "y"):
        own = found[found["motion"] == kind].set_index("body")["derivative"]
        assert own[0] == pytest.approx(own[1:].sum(), rel=1e-9)


def test_moving_everything_changes_nothing(model, case):
    """What a model learns of bodies is relative to the channel: a shift of all nodes has no derivative."""
    mesh = case["mesh"][0]
    whole = Mesh(mesh.points, mesh.cells, groups=dict(mesh.groups) | {"all": np.arange(mesh.n_nodes)})
    for own in model.sensitivity(case.assign(mesh=[whole]), motions="body|all"):
        found = own.motions.set_index(["group", "body", "motion"])["derivative"]
        largest = found["body"].xs("x", level="motion").abs().max()
        shifts = found["all"].unstack()[["x", "y"]].iloc[0]
        assert shifts.abs().max() < 1e-9 * largest


def test_other_motions_and_the_gradient_of_a_group(model, case):
    mesh = case["mesh"][0]
    (found, _) = model.sensitivity(case, motions="body", where="body", along={"shift": np.ones_like(mesh.points)})
    inside = np.zeros(mesh.n_nodes, bool)
    inside[mesh.groups["body"].nodes] = True
    assert found.gradient[inside].any() and not found.gradient[~inside].any()
    whole = model.sensitivity(case, "drag")[0]
    np.testing.assert_allclose(found.gradient[inside], whole.gradient[inside], rtol=1e-9)
    motions = group_motions(mesh, "body")
    wanted = [float((whole.gradient * motion.velocity).sum()) for motion in motions]
    np.testing.assert_allclose(found.motions["derivative"], wanted, rtol=1e-9, atol=1e-12)
    assert list(found.along.index) == ["shift", *(motion.name for motion in motions)]
    assert whole.motions.empty and list(whole.motions) == list(found.motions)


def test_tables_have_standard_deviations(model, case):
    found = model.sensitivity(case, motions="bod*")
    table = motion_table(model, case, found)
    assert table["target"].unique().tolist() == ["drag", "lift"] and len(table) == 2 * len(found[0].moves)
    assert (table["std"] > 0).all() and (table["lower95"] < table["derivative"]).all()
    assert set(zip(table["motion"], table["per"], strict=True)) == {
        ("x", "length"), ("y", "length"), ("rotation", "degree"), ("size", "percent")
    }  # fmt: skip
    np.testing.assert_array_equal(table["derivative"][: len(found[0].moves)], found[0].motions["derivative"])
    slopes = slope_table(model, case, found)
    assert slopes["kind"].tolist()[:2] == ["number", "motion"]
    # the standard deviation of a slope is that of the difference of two joint predictions
    motion = found[0].moves[1]
    pair = [moved_group(case["mesh"][0], "body", motion.body, shift=[0, h]) for h in (0.01, -0.01)]
    rows = pd.concat([case, case], ignore_index=True).assign(mesh=pair)
    draws = model.sample(rows, n_samples=4000, random_state=0)
    drag = np.asarray(draws).reshape(4000, 2, -1)[:, :, 0]
    assert np.std(drag[:, 0] - drag[:, 1]) / 0.02 == pytest.approx(table["std"][1], rel=0.25)


def test_rows_have_motions_of_their_own(model, table):
    found = model.sensitivity(table[:3], "drag", motions="body", std=False)
    assert len({len(own.moves) for own in found}) > 1  # of as many bodies as each has


@pytest.mark.parametrize("options", [{"motions": "wing"}, {"where": "wing"}])
def test_groups_that_are_not_there(model, case, options):
    with pytest.raises(InputError, match="no group 'wing'; its groups are: inlet, outlet, walls, body"):
        model.sensitivity(case, **options)


def test_cases_without_meshes_have_no_motions(table):
    model = RobustGPRegressor(Matern52("viscosity"), **OPTIONS).fit(table.assign(y=table["viscosity"] ** 2), "y")
    with pytest.raises(InputError, match="Groups are named parts of meshes, but the case has no mesh"):
        model.sensitivity(table[:1], motions="body")


def test_bodies_that_are_all_alike_have_no_say(table):
    rows = table[:12].assign(mesh=[table["mesh"][0]] * 12)
    rows["y"] = rows["viscosity"] ** 2
    model = RobustGPRegressor(Elliptic(BodySets("mesh", group="body"), "viscosity"), **OPTIONS).fit(rows, "y")
    (found,) = model.sensitivity(rows[:1], motions="body")
    assert not found.motions["derivative"].any() and found.inputs["viscosity"] > 0
