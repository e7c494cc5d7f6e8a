"""Resistances between groups: closed forms on any mesh, derivatives, meshes of any fineness, ways that do not exist."""

import numpy as np
import pytest

from swwl import Mesh
from swwl.datasets.around import Box, Superellipse, mesh_around
from swwl.mesh.remesh.refine import subdivided
from swwl.mesh.shape import conduction
from swwl.mesh.shape.conduction import resistance, resistance_back
from tests.helpers import assert_slope

STRIP, ENDS = [[0, 0], [2, 0], [2, 1], [0, 1]], {"left": [0, 3], "right": [1, 2]}


def channel(n_nodes=600, gap=0.35):
    """A channel with an ellipse, between an inlet and an outlet."""
    points, triangles, loops = mesh_around([Superellipse((1.2, gap), (0.3, 0.15), 0.2)], Box(3.0, 1.0), n_nodes)
    sides = np.column_stack([loops[-1], np.roll(loops[-1], -1)])
    at = points[sides][:, :, 0]
    ends = {name: sides[np.abs(at - x).max(axis=1) < 1e-9] for name, x in (("inlet", 0.0), ("outlet", 3.0))}
    return Mesh(points, {"triangle": triangles}, groups=ends)


def bar(n=3, sections=6):
    """A bar of 2 x 1 x 1, cut into tetrahedra."""
    x, y, z = np.meshgrid(np.linspace(0, 2, sections + 1), *[np.linspace(0, 1, n + 1)] * 2, indexing="ij")
    number = np.arange(x.size).reshape(x.shape)
    corners = ((0, 0, 0), (1, 0, 0), (1, 1, 0), (0, 1, 0), (0, 0, 1), (1, 0, 1), (1, 1, 1), (0, 1, 1))
    cells = [[number[i + a, j + b, k + c] for a, b, c in corners]
             for i in range(sections) for j in range(n) for k in range(n)]  # fmt: skip
    points = np.column_stack([x.ravel(), y.ravel(), z.ravel()])
    return Mesh(points, {"hexahedron": cells}, groups={"left": number[0].ravel(), "right": number[-1].ravel()})


@pytest.mark.parametrize("times", [0, 1, 2])
def test_a_flow_between_plates_and_a_current_along_a_sheet(times):
    plane = Mesh(STRIP, [[0, 1, 2], [0, 2, 3]], groups=ENDS)
    sheet = Mesh(np.column_stack([STRIP, [0, 0, 0, 0]]), plane.cells, groups=ENDS)
    for _ in range(times):
        plane, sheet = subdivided(plane), subdivided(sheet)
    assert np.exp(resistance(plane, "left", "right")) == pytest.approx(2 * 12)  # even where one cell is the gap
    assert np.exp(resistance(sheet, "right", "left")) == pytest.approx(2)


def test_a_bar_and_a_line():
    assert np.exp(resistance(bar(), "left", "right")) == pytest.approx(2, rel=1e-6)
    line = Mesh([[0, 0], [1, 0], [4, 4]], {"line": [[0, 1], [1, 2]]}, groups={"a": [0], "b": [2]})
    assert np.exp(resistance(line, "a", "b")) == pytest.approx(6)


def test_a_current_across_a_ring():
    turn, radius = np.meshgrid(np.linspace(0, 2 * np.pi, 49)[:-1], np.linspace(1, 2, 9), indexing="ij")
    points = np.column_stack([(radius * np.cos(turn)).ravel(), (radius * np.sin(turn)).ravel(), 0 * turn.ravel()])
    number = np.arange(turn.size).reshape(turn.shape)
    following = np.roll(number, -1, axis=0)
    quads = np.stack([number[:, :-1], number[:, 1:], following[:, 1:], following[:, :-1]], axis=-1).reshape(-1, 4)
    ring = Mesh(points, {"quad": quads}, groups={"inner": number[:, 0], "outer": number[:, -1]})
    assert np.exp(resistance(ring, "inner", "outer")) == pytest.approx(np.log(2) / (2 * np.pi), rel=5e-3)


def test_a_finer_mesh_has_nearly_the_same_resistance(monkeypatch):
    mesh = channel()
    finer = subdivided(mesh)
    spread = np.std([resistance(channel(gap=gap), "inlet", "outlet") for gap in (0.3, 0.4, 0.5)])
    moved = abs(resistance(finer, "inlet", "outlet") - resistance(mesh, "inlet", "outlet"))
    assert moved < 0.01 * spread
    monkeypatch.setattr(conduction, "_MOST_QUADRATIC", 0)  # as of large meshes
    linear = [abs(resistance(own, "inlet", "outlet") - resistance(finer, "inlet", "outlet")) for own in (mesh, finer)]
    finest = abs(resistance(subdivided(finer), "inlet", "outlet") - resistance(finer, "inlet", "outlet"))
    assert linear[0] < 0.05 and finest < 0.4 * linear[0]  # quadratic convergence


@pytest.mark.parametrize("most", [0, 8000])
@pytest.mark.parametrize("make", [channel, bar, lambda: subdivided(Mesh(
    np.column_stack([STRIP, [0, 0.1, 0.4, 0.2]]), [[0, 1, 2], [0, 2, 3]], groups=ENDS))])  # fmt: skip
def test_derivatives_are_those_of_differences(make, most, monkeypatch):
    monkeypatch.setattr(conduction, "_MOST_QUADRATIC", most)
    mesh = make()
    pair = list(mesh.groups)
    found = resistance_back(mesh, *pair)
    step = np.random.default_rng(0).normal(size=mesh.points.shape) * 0.01

    def moved(h):
        return resistance(Mesh(mesh.points + h * step, mesh.cells, groups=mesh.groups), *pair)

    assert_slope((found * step).sum(), moved, rtol=1e-5, atol=1e-6)


def test_where_there_is_no_way():
    apart = Mesh([[0, 0], [1, 0], [0, 1], [5, 0], [6, 0], [5, 1]], [[0, 1, 2], [3, 4, 5]],
                 groups={"a": [0], "b": [4]})  # fmt: skip
    assert 20 < resistance(apart, "a", "b") < 40
    assert np.isfinite(resistance_back(apart, "a", "b")).all()


def test_factors_of_refined_meshes_stay_sparse(monkeypatch):
    """The minimum degree rule by itself fills the factor of such a mesh thirtyfold."""
    mesh = subdivided(subdivided(channel(900)))
    filled, factorize = [], conduction.splu

    def spy(system, **options):
        factor = factorize(system, **options)
        filled.append(factor.nnz / system.shape[0])
        return factor

    monkeypatch.setattr(conduction, "splu", spy)
    monkeypatch.setattr(conduction, "_MOST_QUADRATIC", 0)
    resistance(mesh, "inlet", "outlet")
    assert len(filled) == 2 and max(filled) < 150
