"""What all readers share: joined pieces, and limits on what a file may ask for."""

import numpy as np
import pytest

from swwl.errors import InputError
from swwl.mesh.io.shared import Budget, Piece, UnsupportedError, join, refuse_empty


def triangle(shift, **fields):
    points = np.array([[0.0, 0], [1, 0], [0, 1]]) + shift
    own = {name: np.asarray(values) for name, values in fields.items()}
    return Piece(points, [("triangle", np.array([[0, 1, 2]], np.int32))], own, {"part": np.array([shift])})


def test_pieces_follow_one_another():
    mesh = join([triangle(0, u=[1, 2, 3]), triangle(5, u=[4, 5, 6])])
    np.testing.assert_array_equal(mesh.points[3:], mesh.points[:3] + 5)
    assert mesh.cells["triangle"].tolist() == [[0, 1, 2], [3, 4, 5]]
    assert mesh.fields["u"].tolist() == [1, 2, 3, 4, 5, 6] and mesh.cell_fields["part"].tolist() == [0, 5]
    alone = join([triangle(0)])
    np.testing.assert_array_equal(alone.points, mesh.points[:3])
    assert alone.cells["triangle"].tolist() == [[0, 1, 2]] and alone.cell_fields["part"].tolist() == [0]


def test_pieces_of_points_alone_have_no_cell_data():
    cloud = Piece(np.zeros((2, 2)), [], {}, {})
    mesh = join([triangle(0), cloud])
    assert mesh.n_nodes == 5 and mesh.cell_fields["part"].tolist() == [0]


def test_pieces_that_do_not_fit_are_named():
    with pytest.raises(InputError, match="its piece 2 has no point data 'u'"):
        join([triangle(0, u=[1, 2, 3]), triangle(1)])
    with pytest.raises(InputError, match="'u' have different numbers of components"):
        join([triangle(0, u=[1, 2, 3]), triangle(1, u=np.ones((3, 2)))])
    with pytest.raises(InputError, match="at least one is needed"):
        join([])


def test_a_budget_counts_all_that_is_asked_for():
    budget = Budget(10**7)  # 200 MB and what small files may take in any case
    for _ in range(5):
        budget.take(50 * 10**6)
    with pytest.raises(InputError, match="more than 20 times the size of the file"):
        budget.take(50 * 10**6)
    with pytest.raises(InputError, match="an absurd number of bytes"):
        Budget(1).take(10**30)


def test_empty_files(tmp_path):
    (tmp_path / "a.vtu").touch()
    with pytest.raises(InputError, match="empty"):
        refuse_empty(tmp_path / "a.vtu")
    (tmp_path / "a.vtu").write_text("<")
    refuse_empty(tmp_path / "a.vtu")
    assert issubclass(UnsupportedError, InputError)  # a user's mistake, where nobody else reads it
