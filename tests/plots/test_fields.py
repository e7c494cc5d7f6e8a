"""Pictures of fields: what is drawn with which colors, on meshes of every kind."""

import numpy as np
import pytest
from matplotlib.collections import LineCollection, TriMesh
from matplotlib.figure import Figure

from swwl import Mesh
from swwl.errors import InputError
from swwl.plots import draw_field, draw_prediction
from swwl.plots.fields import Panel, draw_panels

SQUARE = Mesh([[0.0, 0], [1, 0], [1, 1], [0, 1]], {"quad": [[0, 1, 2, 3]]}, {"T": [0.0, 1.0, 2.0, 3.0]})
CUBE = [[x, y, z] for z in (0.0, 1.0) for x, y in ((0, 0), (1, 0), (1, 1), (0, 1))]
RING = Mesh([[1.0, 0], [0, 1], [-1, 0], [0, -1]], {"line": [[0, 1], [1, 2], [2, 3], [3, 0]]})


def drawn(mesh, values, **options):
    ax = draw_field(mesh, values, Figure().subplots(), **options)
    ax.figure.canvas.draw()
    return ax


def colors_at(ax):
    return next(c for c in ax.collections if isinstance(c, TriMesh)).get_facecolors()


def test_colors_are_those_of_the_values():
    ax = drawn(SQUARE, "T", title="warm", label="K")
    from matplotlib import colormaps

    np.testing.assert_allclose(colors_at(ax), colormaps["viridis"]([0.0, 1 / 3, 2 / 3, 1.0]), atol=0.01)
    assert ax.get_title() == "warm"
    assert ax.figure.axes[1].get_ylabel() == "K"
    np.testing.assert_allclose(colors_at(drawn(SQUARE, "T", limits=(0, 30)))[3], colormaps["viridis"](0.1), atol=0.01)


@pytest.mark.parametrize(
    ("mesh", "kind"),
    [
        (SQUARE, TriMesh),
        (Mesh(CUBE, {"hexahedron": [range(8)]}), TriMesh),
        (Mesh(np.column_stack([SQUARE.points, SQUARE.points[:, 0] ** 2]), SQUARE.cells), TriMesh),
        (RING, LineCollection),
        (Mesh(CUBE, {"line": [[0, 1], [1, 6]]}), LineCollection),
        (Mesh([[0.0], [1.0], [3.0]], {"line": [[0, 1], [1, 2]]}), LineCollection),
    ],
)
def test_meshes_of_every_kind(mesh, kind):
    ax = drawn(mesh, np.arange(mesh.n_nodes))
    assert [type(c) for c in ax.collections] == [kind]
    assert ax.collections[0].get_rasterized()  # a picture of many triangles stays a small file


def test_nodes_without_cells_are_dots():
    ax = drawn(Mesh(CUBE, {"vertex": [[0]]}), np.arange(8))
    assert len(ax.collections[0].get_offsets()) == 8


def test_only_the_near_side_of_a_body_is_seen():
    """What looks away from the viewer is painted first, however thin the body is."""
    thin = Mesh(np.array(CUBE) * [1.0, 1e-6, 1.0], {"hexahedron": [range(8)]})
    depth = np.array(CUBE)[drawn(thin, np.zeros(8)).collections[0]._triangulation.triangles, 1]
    far, near = (np.flatnonzero((depth == side).all(axis=1)) for side in (1, 0))
    assert len(far) == len(near) == 2
    assert far.max() < near.min()


def test_unknown_values_are_grey_and_their_neighbors_are_not():
    values = np.array([0.0, 1.0, np.nan, 3.0, 4.0, 5.0])
    mesh = Mesh([[0.0, 0], [1, 0], [2, 0], [0, 1], [1, 1], [2, 1]], [[0, 1, 3], [1, 4, 3], [1, 2, 4], [2, 5, 4]])
    painted = colors_at(drawn(mesh, values))
    assert len(painted) == 6 + 6  # two triangles have corners of their own
    np.testing.assert_allclose(painted[6:, :3], 0xD0 / 255, atol=0.01)
    drawn(mesh, np.full(6, np.nan))
    assert np.isfinite(drawn(RING, [np.nan, 1, 2, 3]).get_xlim()).all()


def test_a_constant_field_can_be_drawn():
    assert drawn(SQUARE, np.zeros(4)).figure.axes[1].get_ylim() == (-0.5, 0.5)


def test_truth_and_prediction_share_their_colors():
    mesh = SQUARE.with_fields({"T_std": [0.1, 0.2, 0.3, 0.4], "T_true": [0.0, 1, 2, 9]})
    figure = draw_prediction(mesh, "T")
    assert [ax.get_title() for ax in figure.axes[:4]] == [
        "T, true",
        "predicted",
        "predicted − true",
        "standard deviation",
    ]
    bars = [ax.get_ylim() for ax in figure.axes[4:]]
    assert bars[0] == bars[1] == (0, 9)
    assert bars[2][0] == -bars[2][1]
    np.testing.assert_array_equal(colors_at(figure.axes[0])[:3], colors_at(figure.axes[1])[:3])
    assert len(draw_prediction(SQUARE.with_fields({"T_std": np.ones(4)}), "T").axes) == 4  # without a truth
    assert len(draw_prediction(mesh, "T", truth=mesh.fields["T"]).axes) == 8


def test_of_vectors_the_length_is_drawn():
    u = np.array([[3.0, 4.0], [0, 0], [0, 0], [6, 8]])
    mesh = SQUARE.with_fields({"u": u, "u_std": np.ones((4, 2))})
    assert drawn(mesh, "u").figure.axes[1].get_ylim() == (0, 10)
    assert draw_prediction(mesh, "u", truth=u + 1).axes[2].get_title() == "length of the error"
    assert drawn(mesh, u[:, :1]).figure.axes[1].get_ylim() == (0, 6)


def test_many_panels_stand_in_rows():
    panels = [Panel(SQUARE, np.arange(4.0) * k, f"mode {k}", "error") for k in range(1, 6)]
    figure = draw_panels(panels, columns=3)
    titles = [ax.get_title() for ax in figure.axes]
    assert titles[:6] == [*(f"mode {k}" for k in range(1, 6)), ""]


def test_a_file_can_be_drawn(tmp_path):
    SQUARE.write(tmp_path / "s.vtu")
    assert drawn(tmp_path / "s.vtu", "T").collections


@pytest.mark.parametrize(
    ("mesh", "values", "words"),
    [
        (SQUARE, "p", "no node field 'p'; its fields are: T"),
        (SQUARE, [1.0, 2.0], "4 nodes"),
        (SQUARE, np.ones((4, 2, 2)), "shape"),
        (3, "T", "not int"),
    ],
)
def test_what_is_refused(mesh, values, words):
    with pytest.raises(InputError, match=words):
        draw_field(mesh, values, Figure().subplots())


def test_refusals_of_comparisons():
    with pytest.raises(InputError, match="nothing to draw"):
        draw_panels([])
    with pytest.raises(InputError, match="shape"):
        draw_prediction(SQUARE, "T", truth=np.ones((4, 2)))
    with pytest.raises(InputError, match="plane axis"):
        draw_field(SQUARE, "T", Figure().add_subplot(projection="3d"))
