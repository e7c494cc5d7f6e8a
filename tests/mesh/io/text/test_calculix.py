"""Results that CalculiX itself has computed, as text and binary, against its input and another reader."""

import shutil

import numpy as np
import pytest

from swwl.mesh.cells import cell_measures, local_edges
from swwl.mesh.io.text.abaqus import read_abaqus
from swwl.mesh.io.text.frd import frd_times, read_results
from tests.solvers import calculix

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(bool(calculix.lack()), reason=calculix.lack() or "all is there"),
]

KINDS = [("tetra", 1), ("tetra", 2), ("wedge", 1), ("wedge", 2), ("hexahedron", 1), ("hexahedron", 2)]


@pytest.fixture(scope="module", params=KINDS, ids=lambda kind: f"{kind[0]}{kind[1]}")
def results(request, tmp_path_factory):
    """The same bracket as text and binary."""
    cells, order = request.param
    folder = tmp_path_factory.mktemp("brackets")
    options = {"order": order, "cells": cells}
    return calculix.bracket(folder, "text", **options), calculix.bracket(folder, "binary", binary=True, **options)


def test_the_mesh_is_that_of_the_input(results):
    for path in results:
        parts, mesh = read_results(path), read_abaqus(path.with_suffix(".inp"))
        np.testing.assert_allclose(parts.points, mesh.points, rtol=1e-5, atol=1e-4)  # five digits are written
        assert parts.cells.keys() == mesh.cells.keys()
        for kind, block in mesh.cells.items():
            np.testing.assert_array_equal(parts.cells[kind], block)
            volume = cell_measures(parts.points, kind, block).sum()
            assert volume == pytest.approx(cell_measures(mesh.points, kind, block).sum(), rel=1e-4)
            lengths = [np.linalg.norm(mesh.points[block[:, a]] - mesh.points[block[:, b]], axis=1).max()
                       for a, b in local_edges(kind, block.shape[1])]  # fmt: skip
            assert max(lengths) < 15  # no edge joins nodes that are not neighbors


def test_text_and_binary_agree(results):
    text, binary = map(read_results, results)
    assert text.fields.keys() == binary.fields.keys() >= {"DISP", "NDTEMP", "STRESS", "TOSTRAIN", "FORC", "MISES"}
    for name in ("DISP", "NDTEMP", "STRESS", "MISES"):
        scale = np.abs(text.fields[name]).max()
        np.testing.assert_allclose(text.fields[name], binary.fields[name], atol=2e-5 * scale)
    assert frd_times(results[0]) == frd_times(results[1]) == [1, 2]
    first = read_results(results[1], step=0)
    np.testing.assert_allclose(2 * first.fields["DISP"], binary.fields["DISP"], rtol=1e-3, atol=1e-9)


def test_held_nodes_stay_and_are_a_group(results):
    parts = read_results(results[1])
    held = parts.groups["HELD"]
    assert (parts.points[held, 0] < 1e-3).all() and (parts.points[parts.groups["LOADED"], 0] > 39.9).all()
    assert np.abs(parts.fields["DISP"][held]).max() == 0 < np.abs(parts.fields["DISP"]).max()
    assert sum(map(len, parts.groups["EALL"].values())) == sum(map(len, parts.cells.values()))


def test_the_short_form(results):
    short = results[0].with_name("short.frd")
    short.write_text(calculix.short_form(results[0].read_text()))
    shutil.copy(results[0].with_suffix(".inp"), short.with_suffix(".inp"))
    one, other = read_results(results[0]), read_results(short)
    for name, values in one.fields.items():
        np.testing.assert_array_equal(values, other.fields[name])


def test_another_reader_finds_the_same(results, tmp_path):
    ccx2paraview = pytest.importorskip("ccx2paraview", reason="ccx2paraview is not installed")
    pyvista = pytest.importorskip("pyvista", reason="pyvista is not installed")
    path = shutil.copy(results[0], tmp_path / "a.frd")
    ccx2paraview.Converter(str(path), ["vtu"]).run()
    last = max(tmp_path.glob("a*.vtu"), key=lambda file: file.name)
    grid, parts = pyvista.read(last), read_results(results[0])
    np.testing.assert_allclose(grid.points, parts.points)
    np.testing.assert_allclose(grid.point_data["U"], parts.fields["DISP"], rtol=1e-5, atol=1e-12)
    (block,) = parts.cells.values()
    cells = next(iter(grid.cells_dict.values()))  # of wedges of 15 nodes it keeps the corners
    np.testing.assert_array_equal(np.sort(cells), np.sort(block[:, : cells.shape[1]]))
    np.testing.assert_allclose(grid.point_data["S_Mises"], parts.fields["MISES"], rtol=1e-4, atol=1e-6)
