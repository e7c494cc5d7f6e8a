r"""Plane-stress elasto-viscoplasticity: strains of all elements -> stresses and consistent tangents.

Von Mises plasticity with Voce hardening and Norton's viscous overstress,

.. math:: q = R(p) + K \dot p^{1/n}, \qquad R(p) = \sigma_y + Q (1 - e^{-b p}),

where :math:`q` is the von Mises stress and :math:`p` the accumulated plastic strain, integrated by backward
Euler with the plane-stress return mapping of Simo and Taylor. Serves ``solver.py``.

References
----------
Simo and Taylor (1986), A return mapping algorithm for plane stress elastoplasticity, IJNME 22.
Simo and Hughes (1998), Computational Inelasticity, sections 3.4 and 3.8.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from swwl.datasets.generator import Floats, Unsolvable

# sᵀ DEVIATOR s = squared norm of the deviator of the plane stress s = (s11, s22, s12).
DEVIATOR = np.array([[2.0, -1.0, 0.0], [-1.0, 2.0, 0.0], [0.0, 0.0, 6.0]]) / 3
_TWO_THIRDS = np.sqrt(2 / 3)
_THREE_HALVES = np.sqrt(3 / 2)


@dataclass(frozen=True)
class Material:
    """Constants of the law, in MPa and seconds.

    Attributes
    ----------
    yield_stress, hardening, hardening_rate : float
        Voce's σ_y, Q and b.
    viscosity, exponent : float
        Norton's K and n.
    young, poisson : float
        Of the isotropic elasticity; steel, the same for all samples.
    """

    yield_stress: float
    hardening: float
    hardening_rate: float
    viscosity: float
    exponent: float
    young: float = 200e3
    poisson: float = 0.3

    @property
    def shear(self) -> float:
        """Shear modulus G."""
        return self.young / (2 * (1 + self.poisson))

    @property
    def elasticity(self) -> Floats:
        """Plane-stress stiffness (3, 3) on strains (e11, e22, 2 e12)."""
        nu = self.poisson
        matrix = np.array([[1, nu, 0], [nu, 1, 0], [0, 0, (1 - nu) / 2]])
        return self.young / (1 - nu**2) * matrix

    def flow_stress(self, plastic: Floats, increment: Floats, dt: float) -> Floats:
        """Return R(p) + K (Δp/Δt)^(1/n) after the increment Δp that ends at p."""
        rate = increment / dt
        resistance = self.yield_stress - self.hardening * np.expm1(-self.hardening_rate * plastic)
        return resistance + self.viscosity * rate ** (1 / self.exponent)

    def flow_slope(self, plastic: Floats, increment: Floats, dt: float) -> Floats:
        """Return the derivative of `flow_stress` in Δp, with p = p_old + Δp."""
        rate = increment / dt
        voce = self.hardening * self.hardening_rate * np.exp(-self.hardening_rate * plastic)
        return voce + self.viscosity / (self.exponent * dt) * rate ** (1 / self.exponent - 1)


class State(NamedTuple):
    """Result of a step for m elements: stress (m, 3), plastic strain (m, 3), p (m,), tangent (m, 3, 3)."""

    stress: Floats
    plastic_strain: Floats
    plastic: Floats
    tangent: Floats


def von_mises(stress: Floats) -> Floats:
    """Von Mises stress (m,) of plane stresses (m, 3).

    >>> von_mises(np.array([[200.0, 0, 0], [0, 0, 100 / np.sqrt(3)]])).round(6).tolist()
    [200.0, 100.0]
    """
    s11, s22, s12 = stress.T
    squared: Floats = s11**2 + s22**2 - s11 * s22 + 3 * s12**2
    return np.sqrt(squared)


def return_map(strain: Floats, plastic_strain: Floats, plastic: Floats, material: Material, dt: float) -> State:
    r"""Advance all elements by one backward Euler step.

    The trial stress, turned to :math:`\eta = ((s_{11}+s_{22})/\sqrt2, (s_{22}-s_{11})/\sqrt2, s_{12})`, makes
    elasticity and the deviator diagonal, so the stress for a multiplier :math:`\gamma` is explicit and one
    scalar equation per element remains:

    .. math::
        \|\mathrm{dev}\, s\|(\gamma)^2 = \frac{\eta_1^2}{3 (1 + a_1\gamma)^2}
                                       + \frac{\eta_2^2 + 2\eta_3^2}{(1 + a_2\gamma)^2},
        \qquad \sqrt{3/2}\, \|\mathrm{dev}\, s\| = R(p + \Delta p) + K (\Delta p/\Delta t)^{1/n},

    with :math:`a_1 = E / (3(1-\nu))`, :math:`a_2 = 2G` and
    :math:`\Delta p = \sqrt{2/3}\,\gamma\|\mathrm{dev}\,s\|`.

    Parameters
    ----------
    strain : ndarray of shape (m, 3)
        Total strain at the end of the step, (e11, e22, 2 e12).
    plastic_strain : ndarray of shape (m, 3)
        At the start of the step.
    plastic : ndarray of shape (m,)
        Accumulated plastic strain at the start of the step.
    material : Material
    dt : float
        Length of the step in seconds.

    Examples
    --------
    >>> steel = Material(100.0, 50.0, 10.0, 40.0, 5.0)
    >>> small = np.array([[1e-4, -0.3e-4, 0.0]])
    >>> return_map(small, np.zeros((1, 3)), np.zeros(1), steel, 1.0).stress.round(9).tolist()
    [[20.0, 0.0, 0.0]]
    """
    elasticity = material.elasticity
    stress = (strain - plastic_strain) @ elasticity
    eta = np.column_stack(
        [(stress[:, 0] + stress[:, 1]) / np.sqrt(2), (stress[:, 1] - stress[:, 0]) / np.sqrt(2), stress[:, 2]]
    )
    excess = von_mises(stress) - material.flow_stress(plastic, np.zeros_like(plastic), dt)
    yielding = np.flatnonzero(excess > 1e-10 * material.yield_stress)

    multiplier = np.zeros(len(strain))
    increment = np.zeros(len(strain))
    tangent = np.broadcast_to(elasticity, (len(strain), 3, 3)).copy()
    if len(yielding):
        trial, old = eta[yielding], plastic[yielding]
        gamma = _solve_multiplier(trial, old, material, dt)
        norm, _ = _deviator_norm(gamma, trial, material)
        damp_1, damp_2 = _damping(gamma, material)
        relaxed_1, relaxed_2, relaxed_3 = trial[:, 0] / damp_1, trial[:, 1] / damp_2, trial[:, 2] / damp_2
        stress[yielding] = np.column_stack(
            [(relaxed_1 - relaxed_2) / np.sqrt(2), (relaxed_1 + relaxed_2) / np.sqrt(2), relaxed_3]
        )
        multiplier[yielding] = gamma
        increment[yielding] = _TWO_THIRDS * gamma * norm
        slope = material.flow_slope(old + increment[yielding], increment[yielding], dt)
        tangent[yielding] = _consistent_tangent(stress[yielding], gamma, norm, slope, material)
    return State(stress, plastic_strain + multiplier[:, None] * (stress @ DEVIATOR), plastic + increment, tangent)


def _damping(gamma: Floats, material: Material) -> tuple[Floats, Floats]:
    """Factors 1 + a₁γ and 1 + a₂γ by which plastic flow shrinks the turned trial stress."""
    return 1 + material.young / (3 * (1 - material.poisson)) * gamma, 1 + 2 * material.shear * gamma


def _deviator_norm(gamma: Floats, eta: Floats, material: Material) -> tuple[Floats, Floats]:
    """Norm of the stress deviator as a function of the multiplier, and its derivative; eta is the trial."""
    damp_1, damp_2 = _damping(gamma, material)
    pressure_part = eta[:, 0] ** 2 / (3 * damp_1**2)
    shear_part = (eta[:, 1] ** 2 + 2 * eta[:, 2] ** 2) / damp_2**2
    norm = np.sqrt(pressure_part + shear_part)
    rate_1, rate_2 = material.young / (3 * (1 - material.poisson)), 2 * material.shear
    return norm, -(rate_1 * pressure_part / damp_1 + rate_2 * shear_part / damp_2) / norm


def _solve_multiplier(eta: Floats, plastic: Floats, material: Material, dt: float) -> Floats:
    r"""Solve the scalar equation of every yielding element.

    Newton's method on :math:`u = \gamma^{1/n}`, in which the viscous term is nearly linear where
    :math:`\gamma` is tiny; in :math:`\gamma` itself its slope is infinite at zero. It starts from the
    smaller of two upper bounds, the multiplier without viscosity and the one without elastic relief, where
    the residual is negative and, being concave in u for all practical purposes, brings the iterates down
    monotonically.
    """
    low = np.zeros(len(eta))
    resistance = material.flow_stress(plastic, low, dt)
    trial = _THREE_HALVES * _deviator_norm(low, eta, material)[0]
    without_viscosity = (trial / resistance - 1) * 3 * (1 - material.poisson) / material.young
    with np.errstate(over="ignore"):  # little viscosity makes this bound infinite; the other one holds then
        without_relief = dt * ((trial - resistance) / material.viscosity) ** material.exponent
    high = np.minimum(without_viscosity, 1.5 * without_relief / resistance)
    gamma: Floats = high
    for _ in range(60):
        norm, norm_slope = _deviator_norm(gamma, eta, material)
        increment = _TWO_THIRDS * gamma * norm
        value = _THREE_HALVES * norm - material.flow_stress(plastic + increment, increment, dt)
        if np.max(np.abs(value)) < 1e-9 * material.yield_stress:
            return gamma
        flow_slope = material.flow_slope(plastic + increment, increment, dt)
        slope = _THREE_HALVES * norm_slope - flow_slope * _TWO_THIRDS * (norm + gamma * norm_slope)
        low, high = np.where(value > 0, gamma, low), np.where(value > 0, high, gamma)
        shrink = np.maximum(1 - value / (material.exponent * gamma * slope), 0)
        newton = gamma * shrink**material.exponent
        gamma = np.where((newton > low) & (newton <= high), newton, (low + high) / 2)
    raise Unsolvable("The return mapping did not converge.")


def _consistent_tangent(stress: Floats, gamma: Floats, norm: Floats, slope: Floats, material: Material) -> Floats:
    """Return the mapped stress' derivative (m, 3, 3) in the strain (Simo and Taylor 1986, section 3)."""
    damp_1, damp_2 = _damping(gamma, material)
    bulk = material.young / (1 - material.poisson) / damp_1
    shear = 2 * material.shear / damp_2
    softened = np.zeros((len(gamma), 3, 3))
    softened[:, 0, 0] = softened[:, 1, 1] = (bulk + shear) / 2
    softened[:, 0, 1] = softened[:, 1, 0] = (bulk - shear) / 2
    softened[:, 2, 2] = shear / 2
    flow = stress @ DEVIATOR
    softened_flow = np.einsum("mij,mj->mi", softened, flow)
    # Linearised consistency: along·(flow·dσ) = across·dγ with dσ = softened (dε − flow dγ).
    along = (_THREE_HALVES - slope * _TWO_THIRDS * gamma) / norm
    across = slope * _TWO_THIRDS * norm
    weight = along / (along * np.einsum("mi,mi->m", flow, softened_flow) + across)
    tangent: Floats = softened - weight[:, None, None] * softened_flow[:, :, None] * softened_flow[:, None, :]
    return tangent
