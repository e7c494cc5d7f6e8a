"""One mesh in a few numbers, and which meshes of a set stand apart from the others."""

import re

import numpy as np
import pytest

from swwl import Graph, InputError, Mesh
from swwl.datasets import make_samples
from swwl.formatting import plain
from swwl.mesh.shape.screening import Typical, apart, facts_of, looks_of, motion, shape_of, turns, typical_of
from tests.helpers import plate
from tests.mesh.shapes import shuffled

QUARTER = np.array([[0.0, -1.0], [1.0, 0.0]])


def moved(mesh, change):
    return Mesh(change(mesh.points), mesh.cells)


def plates(n=14, n_nodes=120):
    rng = np.random.default_rng(0)
    meshes = [plate(n_nodes, seed) for seed in range(n)]
    return [Mesh(points * [rng.uniform(1, 2), 1], {"triangle": cells}) for points, cells in meshes]


def kinds(meshes, typical=None):
    """What every mesh stands apart in."""
    facts = [facts_of(mesh) for mesh in meshes]
    typical = typical or typical_of(facts)
    return [[found.kind for found in apart(one, typical)] for one in facts]


def test_facts_of_a_rectangle():
    """Closed form: uniform nodes on [0, 2] x [0, 1]."""
    x, y = np.meshgrid(np.linspace(0, 2, 65), np.linspace(0, 1, 33))
    points = np.column_stack([x.ravel(), y.ravel()])
    first = np.array([i + 65 * j for j in range(32) for i in range(64)])
    found = facts_of(Mesh(points, {"quad": np.column_stack([first, first + 1, first + 66, first + 65])}))
    assert found.size == pytest.approx(np.sqrt(5)) and found.middle == pytest.approx([1, 0.5])
    assert np.diag(found.covariance) == pytest.approx([4 / 12, 1 / 12], rel=0.07)
    assert found.quantiles[0] == pytest.approx(np.linspace(0, 2, 17), abs=0.04)
    assert (found.n_nodes, found.n_loose, found.n_repeated, found.dimension) == (65 * 33, 0, 0, 2)


def test_the_order_of_nodes_does_not_matter():
    mesh = plates(1)[0]
    turned = shuffled(mesh, np.random.default_rng(0))
    first, second = facts_of(mesh), facts_of(turned)
    assert np.array_equal(first.quantiles, second.quantiles)
    assert first.covariance == pytest.approx(second.covariance)
    assert first.key != second.key and first.key == facts_of(mesh.with_fields({"T": np.zeros(120)}).renamed("b")).key


def test_loose_and_repeated_nodes_are_counted():
    mesh = plates(1)[0]
    cells = mesh.cells["triangle"]
    stray = facts_of(Mesh([*mesh.points, [5.0, 5.0]], mesh.cells))
    assert stray.n_loose == 1 and np.array_equal(stray.quantiles, facts_of(mesh).quantiles)
    soup = facts_of(Mesh(mesh.points[cells.ravel()], np.arange(cells.size).reshape(-1, 3)))
    assert soup.n_repeated == cells.size - mesh.n_nodes
    with pytest.raises(InputError, match="no cells"):
        facts_of(Mesh([[0.0], [1.0]], {"vertex": [[0]]}))
    assert facts_of(Graph([[0.0, 1.0], [2.0, 3.0]], [])).n_nodes == 2


@pytest.mark.parametrize("d", [1, 2, 3])
def test_shapes_of_turned_meshes_are_turned_shapes(d):
    rng = np.random.default_rng(d)
    points = rng.random((50, d)) ** np.arange(1, d + 1)
    lines = np.column_stack([np.arange(49), np.arange(1, 50)])
    facts = facts_of(Mesh(points, {"line": lines}))
    assert len(turns(d)) == {1: 1, 2: 7, 3: 47}[d]
    for turn in turns(d):
        turned = facts_of(Mesh(points @ turn.matrix.T, {"line": lines}))
        assert shape_of(turned) == pytest.approx(shape_of(facts, turn.matrix))
        assert shape_of(facts_of(Mesh(7 * points + 3, {"line": lines}))) == pytest.approx(shape_of(facts))


@pytest.mark.parametrize(
    ("change", "kind", "words"),
    [
        (lambda p: 1000 * p, "size", "about 1000 times larger .* in millimeters, where the others are in meters"),
        (lambda p: p / 1000, "size", "about 1000 times smaller .* in meters, where the others are in millimeters"),
        (lambda p: p / 25.4, "size", "about 25 times smaller .* in inches, where the others are in millimeters"),
        (lambda p: 77 * p, "size", "times larger"),
        (lambda p: p @ QUARTER.T, "orientation", "rotated by 90 degrees"),
        (lambda p: p + [5, 0], "position", "by 5.* in x"),
    ],
)  # fmt: skip
def test_one_mesh_of_fourteen_stands_apart(change, kind, words):
    meshes = plates()
    assert kinds(meshes) == [[]] * 14
    meshes[5] = moved(meshes[5], change)
    assert kinds(meshes) == [[kind] if k == 5 else [] for k in range(14)]
    found = apart(facts_of(meshes[5]), typical_of([facts_of(mesh) for mesh in meshes]))[0]
    assert re.search(words, f"{found.found} {found.advice}")


def test_half_of_the_meshes_in_other_units():
    meshes = plates(16)
    meshes[:7] = [moved(mesh, lambda p: 1000 * p) for mesh in meshes[:7]]
    assert kinds(meshes) == [["size"]] * 7 + [[]] * 9


def test_node_counts():
    meshes = [*plates(), *plates(1, 4000)]
    assert kinds(meshes) == [[]] * 14 + [["node count"]]


def test_a_wide_range_of_sizes_is_no_finding():
    meshes = [moved(mesh, lambda p, k=k: p * 1.5**k) for k, mesh in enumerate(plates())]
    assert not sum(kinds(meshes), [])


@pytest.mark.slow
@pytest.mark.parametrize(("name", "n_nodes"), [("tensile2d", 400), ("airfoil", 600), ("blade", 400)])
@pytest.mark.parametrize("random_topology", [False, True])
def test_no_false_alarms_in_generated_sets(name, n_nodes, random_topology):
    samples = make_samples(name, 16, n_nodes=n_nodes, random_topology=random_topology, random_state=1)
    meshes = [Mesh(sample.points, sample.cells) for sample in samples]
    assert not sum(kinds(meshes), [])
    d = meshes[0].dimension
    quarter = next(turn.matrix for turn in turns(d) if turn.name.endswith("90 degrees" if d == 2 else "about x"))
    turned = [moved(meshes[3], lambda p: p @ quarter.T) if k == 3 else mesh for k, mesh in enumerate(meshes)]
    assert kinds(turned) == [["orientation"] if k == 3 else [] for k in range(16)]


@pytest.mark.parametrize("degrees", [-20, 6, 10, 30])
def test_a_small_turn_is_found_and_measured(degrees):
    meshes = [moved(mesh, lambda p, k=k: p * [2 + 0.02 * k, 1]) for k, mesh in enumerate(plates())]
    typical = typical_of([facts_of(mesh) for mesh in meshes])
    assert [motion(facts_of(mesh), typical) for mesh in meshes] == [None] * len(meshes)
    angle = np.radians(degrees)
    turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    middle = meshes[5].points.mean(axis=0)
    turned = motion(facts_of(moved(meshes[5], lambda p: (p - middle) @ turn.T + middle)), typical)
    assert turned.kind == "orientation"
    assert int(re.search(r"turned by (-?\d+) degrees", turned.found)[1]) == pytest.approx(degrees, abs=3)
    shifted = motion(facts_of(moved(meshes[5], lambda p: p + [0, np.sign(degrees) * 1.5])), typical)
    assert shifted.kind == "position" and " in y" in shifted.found and " in x" not in shifted.found


@pytest.mark.parametrize("axis", range(3))
def test_turns_in_space_name_their_axis(axis):
    i, j = [(1, 2), (2, 0), (0, 1)][axis]
    bricks = [np.array(np.meshgrid([0, 3 + 0.05 * k], [0, 2], [0, 1])).reshape(3, -1).T for k in range(8)]
    cells = {"hexahedron": [[0, 1, 5, 4, 2, 3, 7, 6]]}
    typical = typical_of([facts_of(Mesh(points, cells)) for points in bricks])
    turn, angle = np.eye(3), np.radians(10)
    turn[[i, j], [i, j]] = np.cos(angle)
    turn[i, j], turn[j, i] = -np.sin(angle), np.sin(angle)
    found = motion(facts_of(Mesh(bricks[4] @ turn.T, cells)), typical)
    assert found.found == f"is probably turned by 10 degrees about {'xyz'[axis]}, compared with the others"


def test_a_few_degrees_are_no_half_turn():
    meshes = [Mesh(sample.points, sample.cells) for sample in make_samples("blade", 16, n_nodes=300, random_state=0)]
    c, s = np.cos(np.radians(10)), np.sin(np.radians(10))
    turned = moved(meshes[3], lambda p: p @ [[c, -s, 0], [s, c, 0], [0, 0, 1]])
    found = apart(facts_of(turned), typical_of([facts_of(mesh) for mesh in meshes]))[0].found
    assert found == "is probably turned by -10 degrees about z, compared with the others"


def test_models_of_earlier_versions_do_not_know_the_spread():
    facts = [facts_of(mesh) for mesh in plates()]
    kept = typical_of(facts).plain()
    old = Typical.from_plain({name: value for name, value in kept.items() if name != "spread"})
    assert old.spread.tolist() == kept["far"] and Typical.from_plain(kept).spread.tolist() == kept["spread"]
    assert all(motion(one, old) is None for one in facts)


def test_where_a_skin_looks():
    """Closed form: sides of lengths 3 and 1; lines in space and graphs have no skin, and then no turn is found."""
    box = Mesh([[0, 0], [3, 0], [3, 1], [0, 1]], {"quad": [[0, 1, 2, 3]]})
    assert facts_of(box).looks == pytest.approx(np.diag([0.25, 0.75]))
    slanted = facts_of(moved(box, lambda p: p @ np.array([[0.6, 0.8], [-0.8, 0.6]])))
    for turn in turns(2):
        again = facts_of(moved(box, lambda p, turn=turn: p @ np.array([[0.6, 0.8], [-0.8, 0.6]]) @ turn.matrix.T))
        assert again.looks.ravel() == pytest.approx(looks_of(slanted, turn.matrix))
    assert slanted.looks[0, 1] == pytest.approx(-0.5 * 0.6 * 0.8)
    line = facts_of(Mesh([[0, 0, 0], [1, 2, 3]], {"line": [[0, 1]]}))
    assert line.looks == pytest.approx(np.eye(3) / 3)
    assert facts_of(Graph([[0.0, 1.0], [2.0, 3.0]], [])).looks == pytest.approx(np.eye(2) / 2)


def test_squares_without_a_preferred_direction_are_never_turned():
    meshes = [Mesh(points - 0.5, {"triangle": cells}) for points, cells in (plate(100, seed) for seed in range(14))]
    meshes[5] = moved(meshes[5], lambda p: p @ QUARTER.T)
    assert not sum(kinds(meshes), [])


def test_a_square_that_is_turned_about_its_corner():
    meshes = [Mesh(points, {"triangle": cells}) for points, cells in (plate(100, seed) for seed in range(14))]
    meshes[5] = moved(meshes[5], lambda p: p @ QUARTER.T)
    assert kinds(meshes) == [["position"] if k == 5 else [] for k in range(14)]
    found = apart(facts_of(meshes[5]), typical_of([facts_of(mesh) for mesh in meshes]))[0]
    assert found.advice.startswith("rotated by 90 degrees about the origin, or moved?")


def test_what_is_typical_survives_json_and_nothing_else_passes():
    typical = typical_of([facts_of(mesh) for mesh in plates()])
    again = Typical.from_plain(plain(typical.plain()))
    large = facts_of(moved(plates(1)[0], lambda p: 1000 * p))
    assert apart(large, again) == apart(large, typical)
    good = typical.plain()
    bad = [None, [], {}, good | {"reach": "x"}, good | {"middle": []}, good | {"shape": [1.0]}, good | {"reach": [1.0]}]
    bad.append(good | {"looks": [1.0]})
    assert [Typical.from_plain(values) for values in bad] == [None] * 8
    assert typical_of([facts_of(mesh) for mesh in plates(4)]) is None
