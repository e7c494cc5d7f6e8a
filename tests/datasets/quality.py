"""What tests of data sets share: the quality of meshes, the bytes of folders."""

from __future__ import annotations

import hashlib
from pathlib import Path

import numpy as np


def smallest_angle(points: np.ndarray, triangles: np.ndarray) -> float:
    """Return the smallest angle of any triangle, in degrees.

    Parameters
    ----------
    points : ndarray of shape (n, d)
    triangles : ndarray of shape (m, 3)

    Examples
    --------
    >>> round(smallest_angle(np.array([[0.0, 0], [1, 0], [0, 1]]), np.array([[0, 1, 2]])), 6)
    45.0
    """
    corners = points[triangles]
    ahead = np.roll(corners, -1, axis=1) - corners
    behind = np.roll(corners, 1, axis=1) - corners
    cosine = (ahead * behind).sum(2) / (np.linalg.norm(ahead, axis=2) * np.linalg.norm(behind, axis=2))
    return float(np.rad2deg(np.arccos(np.clip(cosine.max(), -1, 1))))


def fingerprint(folder):
    """Digest of every file by its path in the folder."""
    files = sorted(path for path in Path(folder).rglob("*") if path.is_file())
    return {str(p.relative_to(folder)): hashlib.sha256(p.read_bytes()).hexdigest() for p in files}
