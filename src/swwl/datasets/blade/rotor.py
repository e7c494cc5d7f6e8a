r"""Blade-element model of a transonic rotor: sections, speed and back pressure -> flow and performance.

The annulus is cut into `N_STATIONS` stream tubes of constant radius. In each, the velocity triangle at the
inlet follows from the axial velocity, the exit angle from Carter's deviation rule, the work from Euler's
equation, the loss from Lieblein's diffusion factor, a normal shock in the passage and the incidence, and
the exit axial velocity from mass conservation through the contracting annulus. The axial velocity at the
inlet, one for all tubes, is then found such that the mean static pressure behind the rotor equals the
wanted back pressure.

This is a preliminary-design correlation model, not computational fluid dynamics. Its coefficients were chosen
to land in the neighborhood of NASA's Rotor 37 (about 20 to 21 kg/s, pressure ratio 2.1, efficiency 0.88) and
are not validated: at design speed and a back pressure of 1.41 the reference blade passes 22.1 kg/s at a
pressure ratio of 2.02 and an efficiency of 0.867. Lean and sweep do not enter.

Subscripts 1 and 2 are in front of and behind the rotor, total states are named so, and
the relative frame turns with the rotor. SI units, angles in degrees.

References
----------
Carter (1950), ARC CP 29. Lieblein (1959), J. Basic Engineering 81. Miller, Lewis and Hartmann (1961), J.
Eng. Power 83, for the passage shock. Reid and Moore (1978), NASA TP-1337, for Rotor 37.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.optimize import brentq

from swwl.datasets.blade.geometry import HUB_RADIUS, TIP_RADIUS, Blade, Sections, SurfaceMesh
from swwl.datasets.generator import Floats, Unsolvable

HEAT_CAPACITY, GAMMA, GAS_CONSTANT = 1004.5, 1.4, 287.0
TOTAL_TEMPERATURE, TOTAL_PRESSURE = 288.15, 101325.0
N_BLADES = 36
N_STATIONS = 9
CONTRACTION = 0.78  # annulus area behind over in front of the rotor
_POWER = GAMMA / (GAMMA - 1)
_AXIAL_VELOCITIES = np.linspace(150.0, 250.0, 9)  # searched for the operating point
_IMBALANCE = 1e-8  # of mass in a tube that counts as solved; a choked tube stays far above
_MISSED = 1e-6  # of the back pressure


class Triangles(NamedTuple):
    """Inlet of every tube, shape (..., k) for axial velocities (...,): the velocity triangle and the gas.

    Attributes
    ----------
    axial, wheel, relative : ndarray
        Axial, blade and relative velocity.
    angle : ndarray
        Of the relative flow from the axial direction, in degrees.
    mach : ndarray
        Relative Mach number.
    temperature, pressure : ndarray
        Static.
    relative_temperature, relative_pressure : ndarray
        Total, in the relative frame.
    mass : ndarray
        Mass flow of the tube.
    """

    axial: Floats
    wheel: Floats
    relative: Floats
    angle: Floats
    mach: Floats
    temperature: Floats
    pressure: Floats
    relative_temperature: Floats
    relative_pressure: Floats
    mass: Floats


class Exit(NamedTuple):
    """Outlet of every tube, shape (..., k).

    Attributes
    ----------
    axial, swirl : ndarray
        Absolute velocity: axial and in the direction of rotation.
    temperature, pressure : ndarray
        Static.
    total_temperature, total_pressure : ndarray
    loss : ndarray
        Of relative total pressure over the relative dynamic pressure at the inlet.
    imbalance : ndarray
        What mass conservation would still change of the axial velocity, relative.
    """

    axial: Floats
    swirl: Floats
    temperature: Floats
    pressure: Floats
    total_temperature: Floats
    total_pressure: Floats
    loss: Floats
    imbalance: Floats


class Performance(NamedTuple):
    """Operating point of a rotor.

    Attributes
    ----------
    massflow : float
        In kg/s.
    pressure_ratio : float
        Of total pressures, mass-averaged.
    efficiency : float
        Isentropic.
    inlet : Triangles
    exit : Exit
    sections : Sections
    """

    massflow: float
    pressure_ratio: float
    efficiency: float
    inlet: Triangles
    exit: Exit
    sections: Sections


def operate(blade: Blade, speed: float, back_pressure: float) -> Performance:
    """Find the operating point at a wheel speed and a back pressure.

    Parameters
    ----------
    blade : Blade
    speed : float
        Revolutions per minute.
    back_pressure : float
        Area-averaged static pressure behind the rotor over the total pressure in front.

    Raises
    ------
    Unsolvable
        When the rotor cannot reach the back pressure, or is choked there.

    Examples
    --------
    >>> blade = Blade((52, 57, 62), (32, 44, 53), (0.056, 0.056, 0.056), (0.08, 0.055, 0.035))
    >>> point = operate(blade, speed=17188.0, back_pressure=1.41)
    >>> 20 < point.massflow < 23, 0.8 < point.efficiency < 0.95
    (True, True)
    """
    sections = blade.sections(stations())

    def surplus(axial: Floats) -> Floats:
        leaving = tube_exits(tube_inlets(axial, speed, sections), sections)
        choked = leaving.imbalance.max(-1) > _IMBALANCE
        return np.where(choked, -1.0, mean_pressure(leaving, sections) / TOTAL_PRESSURE - back_pressure)

    values = surplus(_AXIAL_VELOCITIES)
    # The back pressure falls with the mass flow on the stable branch, which is the one of largest flow.
    crossings = np.flatnonzero((values[:-1] > 0) & (values[1:] <= 0))
    if len(crossings) == 0:
        raise Unsolvable(f"No operating point at {speed:.0f} rpm and a back pressure of {back_pressure:.3f}.")
    low, high = _AXIAL_VELOCITIES[crossings[-1] : crossings[-1] + 2]
    axial = brentq(lambda v: float(surplus(np.array(v))), low, high, xtol=1e-8)
    if abs(surplus(np.array(axial))) > _MISSED:  # a jump and no root: the flow chokes before the pressure is that low
        raise Unsolvable(f"The rotor is choked at {speed:.0f} rpm and a back pressure of {back_pressure:.3f}.")
    inlet = tube_inlets(np.array(axial), speed, sections)
    leaving = tube_exits(inlet, sections)
    share = inlet.mass / inlet.mass.sum()
    pressure_ratio = float(share @ leaving.total_pressure) / TOTAL_PRESSURE
    temperature_ratio = float(share @ leaving.total_temperature) / TOTAL_TEMPERATURE
    efficiency = (pressure_ratio ** (1 / _POWER) - 1) / (temperature_ratio - 1)
    if not (leaving.imbalance.max() < _IMBALANCE and 0 < efficiency < 1):
        raise Unsolvable(f"The flow at {speed:.0f} rpm and a back pressure of {back_pressure:.3f} is not physical.")
    return Performance(float(inlet.mass.sum()), pressure_ratio, efficiency, inlet, leaving, sections)


def stations() -> Floats:
    """Heights (k,) of the tubes' middles, from 0 at the hub to 1 at the tip."""
    return (np.arange(N_STATIONS) + 0.5) / N_STATIONS


def tube_areas(sections: Sections) -> Floats:
    """Inlet areas (k,) of the tubes; behind the rotor they are smaller by `CONTRACTION`."""
    return 2 * np.pi * sections.radius * (TIP_RADIUS - HUB_RADIUS) / len(sections.radius)


def mean_pressure(leaving: Exit, sections: Sections) -> Floats:
    """Area-averaged static pressure behind the rotor."""
    areas = tube_areas(sections)
    mean: Floats = leaving.pressure @ areas / areas.sum()
    return mean


def tube_inlets(axial: Floats, speed: float, sections: Sections) -> Triangles:
    """Velocity triangles in front of the rotor, where there is no swirl, for axial velocities (...,)."""
    wheel = speed * 2 * np.pi / 60 * sections.radius
    axial, wheel = np.broadcast_arrays(np.asarray(axial, dtype=float)[..., None], wheel)
    temperature = TOTAL_TEMPERATURE - axial**2 / (2 * HEAT_CAPACITY)
    pressure = TOTAL_PRESSURE * (temperature / TOTAL_TEMPERATURE) ** _POWER
    relative = np.hypot(axial, wheel)
    relative_temperature = temperature + relative**2 / (2 * HEAT_CAPACITY)
    return Triangles(
        axial=axial,
        wheel=wheel,
        relative=relative,
        angle=np.rad2deg(np.arctan2(wheel, axial)),
        mach=relative / np.sqrt(GAMMA * GAS_CONSTANT * temperature),
        temperature=temperature,
        pressure=pressure,
        relative_temperature=relative_temperature,
        relative_pressure=pressure * (relative_temperature / temperature) ** _POWER,
        mass=pressure / (GAS_CONSTANT * temperature) * axial * tube_areas(sections),
    )


def tube_exits(inlet: Triangles, sections: Sections) -> Exit:
    r"""Exit state of every tube.

    The exit angle and the loss depend on the inlet alone. At constant radius the relative total temperature
    is conserved, so mass conservation is an equation for the relative exit velocity over its largest
    possible value, :math:`w = W_2 / \sqrt{2 c_p T_r}`:

    .. math:: \dot m = \rho_r \sqrt{2 c_p T_r}\, A \cos\beta_2\; w (1 - w^2)^{1/(\gamma - 1)} .

    A tube that would need more than the right side's maximum is choked; it leaves at the speed of sound and
    keeps an imbalance.
    """
    incidence = inlet.angle - sections.inlet_angle - _best_incidence(inlet.mach, sections)
    slope = np.tan(np.deg2rad(sections.exit_angle + deviation(incidence, sections)))
    cosine = 1 / np.sqrt(1 + slope**2)
    loss = profile_loss(slope, inlet, sections) + shock_loss(inlet, sections)
    loss = np.minimum(loss + _incidence_loss(incidence, inlet.mach), 0.6)
    relative_pressure = inlet.relative_pressure - loss * (inlet.relative_pressure - inlet.pressure)

    largest = np.sqrt(2 * HEAT_CAPACITY * inlet.relative_temperature)
    density = relative_pressure / (GAS_CONSTANT * inlet.relative_temperature)
    capacity = density * largest * CONTRACTION * tube_areas(sections) * cosine
    velocity = largest * subsonic_velocity(inlet.mass / capacity)
    temperature = inlet.relative_temperature - velocity**2 / (2 * HEAT_CAPACITY)
    pressure = relative_pressure * (temperature / inlet.relative_temperature) ** _POWER
    axial = velocity * cosine
    swirl = inlet.wheel - velocity * cosine * slope
    total_temperature = TOTAL_TEMPERATURE + inlet.wheel * swirl / HEAT_CAPACITY  # Euler's work
    mass = pressure / (GAS_CONSTANT * temperature) * axial * CONTRACTION * tube_areas(sections)
    return Exit(
        axial=axial,
        swirl=swirl,
        temperature=temperature,
        pressure=pressure,
        total_temperature=total_temperature,
        total_pressure=pressure * (total_temperature / temperature) ** _POWER,
        loss=loss,
        imbalance=np.abs(mass / inlet.mass - 1),
    )


def subsonic_velocity(flux: Floats) -> Floats:
    r"""Return the smaller root of :math:`w (1 - w^2)^{1/(\gamma-1)} = \text{flux}`, or the sonic velocity.

    Newton's method from the left, where the function is concave and the iterates rise monotonically. Beyond
    the function's maximum the answer is where that lies, at the speed of sound.

    >>> w = subsonic_velocity(np.array([0.0, 0.2, 1.0]))
    >>> (w * (1 - w**2) ** 2.5).round(4).tolist(), round(float(w[2] ** 2), 4)  # the last one is choked
    ([0.0, 0.2, 0.2588], 0.1667)
    """
    power = 1 / (GAMMA - 1)
    sonic = np.sqrt(1 / (1 + 2 * power))
    w = np.minimum(flux, sonic)
    for _ in range(60):
        core = 1 - w**2
        slope = core ** (power - 1) * (1 - w**2 / sonic**2)
        step = (flux - w * core**power) / np.maximum(slope, 1e-9)
        advanced = np.clip(w + step, w, sonic)
        if np.array_equal(advanced, w):
            break
        w = advanced
    return w


def solidity(sections: Sections) -> Floats:
    """Chord over pitch (k,)."""
    return N_BLADES * sections.chord / (2 * np.pi * sections.radius)


def _best_incidence(mach: Floats, sections: Sections) -> Floats:
    """Incidence of least loss in degrees: rises with the Mach number, falls with the camber."""
    return 2 + 3 * np.clip((mach - 0.8) / 0.6, 0, 1) - sections.turning / 40


def deviation(incidence: Floats, sections: Sections) -> Floats:
    """Carter's rule plus a growth with the incidence off its optimum, in degrees."""
    carter = (0.23 + 0.1 * sections.stagger / 50) * sections.turning / np.sqrt(solidity(sections))
    return carter + 0.25 * np.maximum(incidence, -8) + 0.012 * np.maximum(incidence - 4, 0) ** 2


def profile_loss(slope: Floats, inlet: Triangles, sections: Sections) -> Floats:
    """Loss of the wakes by Lieblein's equivalent diffusion ratio; thick sections lose more at high Mach."""
    cos_1, cos_2 = inlet.axial / inlet.relative, 1 / np.sqrt(1 + slope**2)
    turned = inlet.wheel / inlet.axial - slope
    diffusion = cos_2 / cos_1 * (1.12 + 0.61 * cos_1**2 / solidity(sections) * turned)
    wake = 0.004 / (1 - 1.17 * np.log(np.clip(diffusion, 1, 2.15)))
    wake = wake * (1 + 0.6 * np.clip(sections.thickness / 0.06 - 1, -0.5, 2) * np.maximum(inlet.mach, 0.8))
    return 2 * wake * solidity(sections) / cos_2 * (cos_1 / cos_2) ** 2


def _incidence_loss(incidence: Floats, mach: Floats) -> Floats:
    positive, negative = np.maximum(incidence, 0), np.minimum(incidence, 0)
    loss: Floats = 0.0009 * positive**2 + 0.0004 * negative**2 * np.maximum(mach, 0.8) ** 3
    return loss


def prandtl_meyer(mach: Floats) -> Floats:
    """Prandtl-Meyer angle in radians for Mach numbers from 1 on.

    >>> float(np.rad2deg(prandtl_meyer(np.array(2.0))).round(2))
    26.38
    """
    excess = np.sqrt(mach**2 - 1)
    angle: Floats = np.sqrt(6) * np.arctan(excess / np.sqrt(6)) - np.arctan(excess)
    return angle


_MACH_TABLE = np.linspace(1, 3, 4001)
_ANGLE_TABLE = prandtl_meyer(_MACH_TABLE)


def shock_loss(inlet: Triangles, sections: Sections) -> Floats:
    """Loss of a normal shock in the passage, blended in just above Mach 1.

    Its Mach number is the mean of that at the inlet and of that after a Prandtl-Meyer expansion around the
    front of the suction side (Miller, Lewis and Hartmann 1961).
    """
    upstream = np.maximum(inlet.mach, 1)
    turned = np.clip(0.35 * sections.turning + np.maximum(inlet.angle - sections.inlet_angle, 0), 0, 25)
    expanded = np.interp(prandtl_meyer(upstream) + np.deg2rad(turned), _ANGLE_TABLE, _MACH_TABLE)
    square = ((upstream + expanded) / 2) ** 2
    recovery = (6 * square / (square + 5)) ** 3.5 * (6 / (7 * square - 1)) ** 2.5
    onset = np.clip((inlet.mach - 1) / 0.08, 0, 1)
    onset = onset**2 * (3 - 2 * onset)
    return onset * (1 - recovery) / (1 - (1 + 0.2 * inlet.mach**2) ** -3.5)


def surface_pressure(mesh: SurfaceMesh, point: Performance) -> Floats:
    r"""Return the static pressure (n,) at the nodes of a blade, in Pa.

    .. math:: p = p_1 + (p_2 - p_1) x \mp \tfrac12 \Delta p\, \tfrac8\pi \sqrt{x (1 - x)},
              \qquad \Delta p = \frac{\dot m' V_{\theta 2}}{B\, c \cos\xi},

    minus on the suction side, with x along the chord c of stagger :math:`\xi`, and :math:`\dot m'` the mass
    flow per height through all B blades.
    """
    sections = point.sections
    per_height = point.inlet.mass * len(sections.radius) / (TIP_RADIUS - HUB_RADIUS)
    width = sections.chord * np.cos(np.deg2rad(sections.stagger))
    difference = per_height * point.exit.swirl / (N_BLADES * width)

    def at_rings(values: Floats) -> Floats:
        return np.interp(mesh.span, stations(), values)[:, None]

    front, back = at_rings(point.inlet.pressure), at_rings(point.exit.pressure)
    ellipse = 8 / np.pi * np.sqrt(mesh.along * (1 - mesh.along))
    pressure = front + (back - front) * mesh.along - mesh.side * at_rings(difference) / 2 * ellipse
    return pressure.ravel()
