"""Circular slit maps against closed forms, and what they must not depend on."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from swwl.errors import InputError
from swwl.fields.geometry.slitmap import cut_into_panels, find_corners, influence, slit_map, turning


def ring(n, center=0.0, semi_axes=(1.0, 1.0), start=0.0):
    t = start + 2 * np.pi * np.arange(n) / n
    z = center + semi_axes[0] * np.cos(t) + 1j * semi_axes[1] * np.sin(t)
    return z


def as_points(z):
    return np.column_stack([z.real, z.imag])


def mapped(outlines, others):
    """Levels and angles at other points than the nodes of the outlines."""
    ends = np.cumsum([len(o) for o in outlines])
    loops = [np.arange(end - len(o), end) for o, end in zip(outlines, ends, strict=True)]
    found = slit_map(as_points(np.concatenate([*outlines, others])), loops)
    return found, found.level[ends[-1] :], found.angle[ends[-1] :]


def apart(a, b):
    """Largest difference of angles."""
    return np.abs(np.angle(np.exp(1j * (a - b)))).max()


def some_points(rng, n, low=1.1, high=8.0):
    return rng.uniform(low, high, n) * np.exp(2j * np.pi * rng.random(n))


def test_around_a_circle_the_level_is_the_logarithm_of_the_radius():
    x = some_points(np.random.default_rng(0), 50)
    center = 3 - 2j
    found, level, angle = mapped([ring(40, center, (0.5, 0.5), 0.3)], center + 0.5 * x)
    assert np.abs(level[:, 0] - np.log(np.abs(x))).max() < 1e-4
    assert apart(angle[:, 0], np.angle(x)) < 1e-4
    assert apart(found.angle[:40, 0], 0.3 + 2 * np.pi * np.arange(40) / 40) < 1e-4
    at = np.exp(2j * np.pi * np.arange(128) / 128)
    assert np.abs(found.walls[0] - as_points(center + 0.5 * at)).max() < 1e-3
    assert found.level[:40].max() == 0


@pytest.mark.parametrize("semi_axes", [(1.0, 0.5), (1.0, 0.12), (0.3, 1.0)])
def test_around_an_ellipse_it_is_joukowskis_map(semi_axes):
    a, b = semi_axes
    zeta = some_points(np.random.default_rng(1), 50)
    x = (a + b) / 2 * zeta + (a - b) / 2 / zeta
    # nodes crowd where the ellipse turns, as those of a mesh do
    found, level, angle = mapped([ring(80, 0.0, semi_axes)], x)
    assert np.abs(level[:, 0] - np.log(np.abs(zeta))).max() < 2e-3
    assert apart(angle[:, 0], np.angle(zeta)) < 2e-3
    assert apart(found.angle[:80, 0], 2 * np.pi * np.arange(80) / 80) < 2e-3


def test_around_a_lens_with_two_sharp_edges_it_is_the_map_of_von_karman_and_trefftz():
    # two arcs through -1 and 1; outside, (x - 1) / (x + 1) is a power of (zeta - 1) / (zeta + 1)
    power = 1.5  # outer angle at the edges, over pi
    half = np.pi * (2 - power) / 2
    arc = np.linspace(-half, half, 41)[:-1]
    lower = (np.sin(arc) - 1j * (np.cos(arc) - np.cos(half))) / np.sin(half)
    zeta = some_points(np.random.default_rng(2), 40)
    image = ((zeta - 1) / (zeta + 1)) ** power
    _, level, angle = mapped([np.concatenate([lower, -lower])], (1 + image) / (1 - image))
    assert np.abs(level[:, 0] - np.log(np.abs(zeta))).max() < 1e-2
    assert apart(angle[:, 0], np.angle(zeta)) < 1e-2


def test_gain_is_the_derivative_of_the_map():
    a, b = 1.0, 0.4
    zeta = np.concatenate([np.exp(2j * np.pi * np.arange(90) / 90), some_points(np.random.default_rng(8), 40)])
    stretched = 1 / np.abs((a + b) / 2 - (a - b) / 2 / zeta**2)  # of Joukowski's map, backwards
    found, _, _ = mapped([ring(90, 0.0, (a, b))], ((a + b) / 2 * zeta + (a - b) / 2 / zeta)[90:])
    assert np.abs(found.gain[:, 0] / (stretched * (a + b) / 2) - 1).max() < 5e-3


def test_gain_is_one_far_away_and_largest_at_corners():
    square = np.concatenate(
        [np.linspace(a, b, 9, endpoint=False) for a, b in [(0, 1), (1, 1 + 1j), (1 + 1j, 1j), (1j, 0)]]
    )
    found, _, _ = mapped([square], np.array([1e4, -1e4j]))
    assert np.abs(found.gain[-2:] - 1).max() < 1e-3
    assert sorted(np.argsort(found.gain[:-2, 0])[-4:].tolist()) == [0, 9, 18, 27]
    assert np.ptp(found.gain[[0, 9, 18, 27], 0]) < 1e-6


def two_bodies():
    return [ring(60, -1.5, (0.8, 0.8)), ring(50, 1.6 + 0.4j, (1.0, 0.4), 0.2)]


def test_levels_are_zero_on_their_body_constant_on_the_other_and_logarithmic_far_away():
    found, level, angle = mapped(two_bodies(), 1e4 * np.exp(1j * np.array([0.0, 1.0, 2.0, 4.0])))
    first, second = found.level[:60], found.level[60:110]
    assert first[:, 0].max() == 0 and second[:, 1].max() == 0
    assert np.ptp(first[:, 1]) == 0 and np.ptp(second[:, 0]) == 0 and first[0, 1] > 0
    # far away: log r less one constant per body, and the direction itself
    assert np.ptp(level, axis=0).max() < 1e-3
    assert apart(angle, np.array([[0.0], [1.0], [2.0], [4.0]])) < 1e-3


def test_two_equal_discs_agree_with_the_series_of_images():
    # charge 1 on the left disc and -1 on the right one: log of |x - p| / |x + p| between the two limit points
    d, r = 2.0, 1.0
    p = np.sqrt(d**2 - r**2)
    x = some_points(np.random.default_rng(3), 60, 3.5, 9.0)
    found, level, _ = mapped([ring(90, -d, (r, r)), ring(90, d, (r, r))], x)
    difference = level[:, 0] - level[:, 1]
    expected = np.log(np.abs(x + p) / np.abs(x - p))
    assert np.abs(difference - expected).max() < 1e-3
    assert abs(found.level[90, 0] - found.level[0, 1]) < 1e-8


@given(st.integers(0, 2**32 - 1))
@settings(max_examples=12, deadline=None)
def test_angle_is_the_harmonic_conjugate_of_the_level(seed):
    rng = np.random.default_rng(seed)
    x = some_points(rng, 5, 3.0, 6.0)
    h = 1e-4
    _, level, angle = mapped(two_bodies(), np.concatenate([x + h, x - h, x + 1j * h, x - 1j * h]))
    east, west, north, south = np.split(level, 4)
    turned = [np.angle(np.exp(1j * (a - b))) for a, b in [(angle[:5], angle[5:10]), (angle[10:15], angle[15:])]]
    assert np.abs((east - west) - turned[1]).max() < 1e-3 * 2 * h
    assert np.abs((north - south) + turned[0]).max() < 1e-3 * 2 * h


@pytest.mark.slow
@given(st.floats(1e-3, 1e3), st.floats(-1e3, 1e3), st.floats(-1e3, 1e3))
@settings(max_examples=12, deadline=None)
def test_scale_and_place_do_not_matter(scale, shift_x, shift_y):
    bodies, x = two_bodies(), some_points(np.random.default_rng(4), 20, 3.0, 6.0)
    move = lambda z: scale * z + shift_x + 1j * shift_y  # noqa: E731
    plain, level, angle = mapped(bodies, x)
    moved, moved_level, moved_angle = mapped([move(b) for b in bodies], move(x))
    assert np.abs(level - moved_level).max() < 1e-6
    assert apart(angle, moved_angle) < 1e-6
    walls = move(plain.walls @ [1, 1j])
    assert np.abs(walls - moved.walls @ [1, 1j]).max() < 1e-6 * scale


@given(st.integers(24, 200), st.integers(24, 200), st.floats(0, 6))
@settings(max_examples=15, deadline=None)
def test_the_number_of_nodes_does_not_matter(n, m, start):
    x = some_points(np.random.default_rng(5), 20, 1.2, 6.0)
    one, level, angle = mapped([ring(n, 0.0, (1.0, 0.6))], x)
    other, other_level, other_angle = mapped([ring(m, 0.0, (1.0, 0.6), start)], x)
    assert np.abs(level - other_level).max() < 3e-3
    assert apart(angle, other_angle) < 3e-3
    assert np.abs(one.walls - other.walls).max() < 5e-3


def test_thousands_of_nodes_around_a_body_are_thinned_out():
    x = some_points(np.random.default_rng(6), 20)
    found, level, angle = mapped([ring(5000)], x)
    assert len(cut_into_panels(ring(5000)).vertices) <= 800
    assert np.abs(level[:, 0] - np.log(np.abs(x))).max() < 1e-4
    assert apart(angle[:, 0], np.angle(x)) < 1e-4
    assert apart(found.angle[:5000, 0], 2 * np.pi * np.arange(5000) / 5000) < 1e-3


def test_points_are_mapped_in_blocks_like_all_at_once(monkeypatch):
    x = some_points(np.random.default_rng(7), 30)
    _, level, angle = mapped([ring(40)], x)
    monkeypatch.setattr("swwl.fields.geometry.slitmap._BLOCK", 500)
    _, by_blocks, angles_by_blocks = mapped([ring(40)], x)
    assert np.allclose(level, by_blocks, rtol=0, atol=1e-12) and np.allclose(
        angle, angles_by_blocks, rtol=0, atol=1e-12
    )


def test_panels_pass_through_the_nodes_and_crowd_at_corners():
    square = np.concatenate(
        [np.linspace(a, b, 10, endpoint=False) for a, b in [(0, 1), (1, 1 + 1j), (1 + 1j, 1j), (1j, 0)]]
    )
    panels = cut_into_panels(square)
    assert np.abs(panels.vertices[panels.at.astype(int)] - square).max() < 1e-14
    lengths = np.abs(np.roll(panels.vertices, -1) - panels.vertices)
    assert lengths[0] < 0.1 * lengths.max()
    assert np.flatnonzero(np.abs(turning(square)) > 1).tolist() == [0, 10, 20, 30]


def test_a_coarse_nose_is_no_corner_but_a_blunt_edge_has_two():
    thin = ring(16, 0.0, (1.0, 0.15))
    assert np.abs(turning(thin)).max() > np.pi / 3 and not find_corners(thin).any()
    blunt = np.array([1 + 0.05j, 0.5 + 0.1j, 0.1j, -0.1j, 0.5 - 0.1j, 1 - 0.05j])
    assert find_corners(np.concatenate([blunt, [1 - 0.01j, 1 + 0.01j]]))[[0, 5]].all()
    assert find_corners(np.array([0, 1, 1j])).all()


def test_influence_of_a_panel_is_the_mean_over_it():
    vertices = np.array([0.2 + 0.1j, 1.3 - 0.2j, 0.5 + 0.9j])
    x = np.array([2.0 + 1.5j, -0.7 + 0.3j])
    found = influence(x, vertices)
    steps = (np.arange(2000) + 0.5) / 2000
    for j, (a, b) in enumerate(zip(vertices, np.roll(vertices, -1), strict=True)):
        away = np.log(x[:, None] - (a + steps * (b - a)))
        assert np.allclose(found.potential[:, j], away.real.mean(axis=1), atol=1e-6)
        angles = np.unwrap(away.imag, axis=1).mean(axis=1)
        assert apart(found.argument[:, j] + np.angle(x - a), angles) < 1e-6


def test_bad_loops_are_refused():
    with pytest.raises(InputError, match="passes a node twice"):
        slit_map(as_points(ring(8)), [np.array([0, 1, 2, 0, 5])])
    with pytest.raises(InputError, match="has no inner loop"):
        slit_map(as_points(ring(8)), [])
    with pytest.raises(InputError, match="of fewer than three nodes"):
        slit_map(as_points(ring(8)), [np.array([0, 1])])
    with pytest.raises(InputError, match="two in a row at one place"):
        slit_map(as_points(np.append(ring(8), 1.0)), [np.array([8, 0, 1, 2, 3, 4])])
