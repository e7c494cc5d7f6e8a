"""How much clients may ask for."""

from __future__ import annotations

import os
from dataclasses import dataclass, field


def _workers() -> int:
    return max(2, min(os.cpu_count() or 2, 8))


@dataclass(frozen=True)
class Limits:
    """What a server refuses, with a reason.

    Attributes
    ----------
    body : int
        Bytes of a request.
    nodes : int
        Of a mesh.
    rows : int
        Of a table, and points of curves.
    at_work, waiting : int
        Requests that compute at the same time, and that wait for a place; more are sent away.
    seconds : float
        That a computation may take.
    read_seconds, head_seconds : float
        That a client may take to send a request, and the lines at its head.
    slowest : float
        Bytes per second at which a body has to arrive, after the time for the head once more.
    kept_nodes : int
        Of meshes that are kept in memory, so that they need not be sent again.
    """

    body: int = 100_000_000
    nodes: int = 2_000_000
    rows: int = 100_000
    at_work: int = field(default_factory=_workers)
    waiting: int = 128
    seconds: float = 120.0
    read_seconds: float = 120.0
    head_seconds: float = 15.0
    slowest: float = 10_000.0
    kept_nodes: int = 6_000_000
