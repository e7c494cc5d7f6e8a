r"""NACA airfoils, and O-grids around them: a contour -> points and triangles out to a far circle.

The Kármán-Trefftz transformation

.. math:: \frac{\zeta - 1}{\zeta + 1} = \left(\frac{z - z_t}{z - z_s}\right)^{1/n}, \qquad n = 2 - \tau/\pi,

with the trailing edge :math:`z_t` of angle :math:`\tau` and a point :math:`z_s` just behind the nose, turns
the airfoil into nearly a circle. A polar grid there is easy, and the map, being conformal, brings its
nearly square cells back as nearly square cells around the airfoil, dense at both edges.

References
----------
Milne-Thomson (1973), Theoretical Aerodynamics, chapter VII.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from swwl.datasets.generator import Complexes, Floats, Ints

FAR_RADIUS = 5.0  # of the outer circle, in chords


@dataclass(frozen=True)
class Naca4:
    """A cambered airfoil of the NACA four-digit family with a closed trailing edge.

    Attributes
    ----------
    camber : float
        Largest height of the camber line over the chord.
    position : float
        Where along the chord it is reached.
    thickness : float
        Largest thickness over the chord.

    References
    ----------
    Jacobs, Ward and Pinkerton (1933), NACA Report 460; the last coefficient is -0.1036 instead of -0.1015,
    which closes the trailing edge.

    Examples
    --------
    >>> naca2412 = Naca4(camber=0.02, position=0.4, thickness=0.12)
    >>> naca2412.contour(np.array([0, np.pi, 2 * np.pi]))[:, 0].round(9).tolist()  # edges
    [1.0, 0.0, 1.0]
    """

    camber: float
    position: float
    thickness: float

    def contour(self, angle: Floats) -> Floats:
        """Points (n, 2) of the contour at parameters (n,) from 0 to 2π.

        The parameter runs clockwise from the trailing edge along the lower side to the leading edge at π
        and back along the upper side; chordwise the points lie near (1 + cos(angle)) / 2, dense at both
        edges.
        """
        angle = np.asarray(angle, dtype=float)
        x = (1 + np.cos(angle)) / 2
        # sqrt(x) = |cos(angle / 2)|; its sign is that of the side, so the contour is smooth through the nose.
        root = -np.cos(angle / 2)
        side = np.where(angle < np.pi, -1.0, 1.0)
        polynomial = -0.1260 * x - 0.3516 * x**2 + 0.2843 * x**3 - 0.1036 * x**4
        half_thickness = 5 * self.thickness * (0.2969 * root + side * polynomial)
        height, slope = self._camber_line(x)
        normal = np.column_stack([-slope, np.ones_like(x)]) / np.sqrt(1 + slope**2)[:, None]
        return np.column_stack([x, height]) + half_thickness[:, None] * normal

    @property
    def nose_radius(self) -> float:
        """Radius of the leading edge."""
        return (5 * 0.2969 * self.thickness) ** 2 / 2

    @property
    def nose_slope(self) -> float:
        """Slope of the camber line at the leading edge."""
        return float(self._camber_line(np.zeros(1))[1][0])

    @property
    def trailing_angle(self) -> float:
        """Angle in radians between the two sides at the trailing edge."""
        slope = 5 * self.thickness * (0.2969 / 2 - 0.1260 - 2 * 0.3516 + 3 * 0.2843 - 4 * 0.1036)
        return 2 * float(np.arctan(-slope))

    def _camber_line(self, x: Floats) -> tuple[Floats, Floats]:
        """Height and slope of the camber line: two parabolas that meet at its top."""
        m, p = self.camber, self.position
        front = x < p
        scale = np.where(front, m / p**2, m / (1 - p) ** 2)
        height = scale * np.where(front, 2 * p * x - x**2, 1 - 2 * p + 2 * p * x - x**2)
        return height, scale * 2 * (p - x)


def o_grid(airfoil: Naca4, n_nodes: int, aspect: float = 1.0) -> tuple[Floats, Ints, Floats]:
    """Mesh the air around an airfoil.

    Parameters
    ----------
    airfoil : Naca4
    n_nodes : int
        Wanted number of nodes, met within 2 % from 500 nodes on.
    aspect : float
        Length of the cells across the airfoil over their length along it.

    Returns
    -------
    points : ndarray of shape (n, 2)
        The first `n_around` of them lie on the airfoil, from the trailing edge clockwise.
    triangles : ndarray of shape (m, 3)
        Counterclockwise.
    parameters : ndarray of shape (n_around,)
        Contour parameters of the points on the airfoil, see `Naca4.contour`.

    Examples
    --------
    >>> points, triangles, parameters = o_grid(Naca4(0.02, 0.4, 0.12), n_nodes=2000)
    >>> bool(abs(len(points) - 2000) < 40), parameters.shape
    (True, (64,))
    """
    n_around, n_layers = _resolution(n_nodes, aspect)
    transform = _KarmanTrefftz(airfoil)
    parameters = _equal_angles(airfoil, transform, n_around)
    ring = _as_complex(airfoil.contour(parameters))
    near = np.log(transform.to_circle(parameters, ring) - transform.center)
    angle = np.unwrap(near.imag)
    far_angle = angle[0] - 2 * np.pi * np.arange(n_around) / n_around
    near, far = near.real + 1j * angle, np.log(FAR_RADIUS / transform.scale) + 1j * far_angle
    share = np.linspace(0, 1, n_layers + 1)[:, None]
    grid = transform.from_circle(np.exp((1 - share) * near + share * far) + transform.center)
    grid[0] = ring
    points = np.column_stack([grid.real.ravel(), grid.imag.ravel()])
    return points, _split_quads(points, n_around, n_layers), parameters


def _resolution(n_nodes: int, aspect: float) -> tuple[int, int]:
    """Cells around and across: square ones when the logarithm of the radius advances like the angle."""
    log_ratio = np.log(FAR_RADIUS / 0.27)  # an airfoil of chord 1 maps to a circle of about this radius, scaled
    across_per_around = log_ratio / (2 * np.pi * aspect)
    ideal = np.sqrt(n_nodes / across_per_around)
    # The number of nodes is a product of two integers: of the even rings near the ideal take the one that
    # fits best.
    candidates = [2 * k for k in range(max(10, int(0.45 * ideal)), max(10, int(0.55 * ideal)) + 1)]
    layers = {n: max(3, round(n_nodes / n) - 1) for n in candidates}
    best = min(candidates, key=lambda n: (max(abs(n * (layers[n] + 1) / n_nodes - 1), 5e-3), abs(n - ideal)))
    return best, layers[best]


class _KarmanTrefftz:
    """The map of one airfoil to nearly a circle, and back."""

    def __init__(self, airfoil: Naca4) -> None:
        self._exponent = 2 - airfoil.trailing_angle / np.pi
        self._tail = 1.0 + 0.0j
        self._nose = airfoil.nose_radius / 2 * (1 + 1j * airfoil.nose_slope)
        self.scale = abs(self._tail - self._nose) / (2 * self._exponent)  # far away z is about scale * zeta
        parameters = np.linspace(0, 2 * np.pi, 201)[:-1]
        self.center = complex(self.to_circle(parameters, _as_complex(airfoil.contour(parameters))).mean())

    def to_circle(self, parameters: Floats, contour: Complexes) -> Complexes:
        """Map contour points (n,), in order from the trailing edge clockwise, with parameters in [0, 2π)."""
        inner = parameters > 0  # the trailing edge itself goes to 1
        ratio = (contour[inner] - self._tail) / (contour[inner] - self._nose)
        # The angle at which tail and nose are seen: continuous along the contour, zero at the leading edge.
        angle = np.unwrap(np.angle(ratio))
        angle -= 2 * np.pi * np.round(np.interp(np.pi, parameters[inner], angle) / (2 * np.pi))
        root = np.abs(ratio) ** (1 / self._exponent) * np.exp(1j * angle / self._exponent)
        mapped = np.ones(len(contour), dtype=complex)
        mapped[inner] = (1 + root) / (1 - root)
        return mapped

    def from_circle(self, mapped: Complexes) -> Complexes:
        """Map points on and outside the near-circle back."""
        ratio = ((mapped - 1) / (mapped + 1)) ** self._exponent
        return (self._tail - self._nose * ratio) / (1 - ratio)


def _equal_angles(airfoil: Naca4, transform: _KarmanTrefftz, n_around: int) -> Floats:
    """Contour parameters (n_around,) whose images lie at equal angles on the near-circle."""
    dense = np.linspace(0, 2 * np.pi, 20 * n_around + 1)[:-1]
    image = transform.to_circle(dense, _as_complex(airfoil.contour(dense)))
    turned = np.unwrap(np.angle(image - transform.center))
    turned = np.append(turned[0] - turned, 2 * np.pi)
    equal = 2 * np.pi * np.arange(n_around) / n_around
    parameters: Floats = np.interp(equal, turned, np.append(dense, 2 * np.pi))
    return parameters


def _split_quads(points: Floats, n_around: int, n_layers: int) -> Ints:
    """Split every cell of the grid into two triangles (m, 3), by the diagonal between its wider corners.

    That is Delaunay's choice. At the trailing edge, where a corner of nearly 180 degrees must be divided,
    no other would do.
    """
    inner = (np.arange(n_layers)[:, None] * n_around + np.arange(n_around)).ravel()
    inner_next = (np.arange(n_layers)[:, None] * n_around + (np.arange(n_around) + 1) % n_around).ravel()
    outer, outer_next = inner + n_around, inner_next + n_around
    z = _as_complex(points)

    def corner(at: Ints, one: Ints, other: Ints) -> Floats:
        return np.abs(np.angle((z[one] - z[at]) / (z[other] - z[at])))

    rising = corner(inner, inner_next, outer) + corner(outer_next, inner_next, outer) >= np.pi
    triangles = np.where(
        rising[:, None],
        np.column_stack([inner, inner_next, outer_next, inner, outer_next, outer]),
        np.column_stack([inner, inner_next, outer, inner_next, outer_next, outer]),
    )
    return triangles.reshape(-1, 3)


def _as_complex(points: Floats) -> Complexes:
    return points[:, 0] + 1j * points[:, 1]
