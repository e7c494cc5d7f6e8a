"""Many small meshes, quickly: blobs of ten shape parameters with two numbers beside them, and two answers.

``python -m benchmarks.meshes DIR 20000`` writes a table and its meshes; then
``swwl fit DIR/table.csv --target flow --target stiffness -o DIR/m.swwl`` goes from files to a model.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pandas as pd

from swwl import Mesh
from swwl.mesh.io.npz import write_npz

N_RINGS, N_AROUND, N_TEST = 8, 32, 1000


def template() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return radius (n,) and angle (n,) of the nodes of a disk, and its triangles (m, 3)."""
    rings, around = np.meshgrid(np.arange(1, N_RINGS + 1), np.arange(N_AROUND), indexing="ij")
    radius = np.append(0.0, rings.ravel() / N_RINGS)
    angle = np.append(0.0, around.ravel() * 2 * np.pi / N_AROUND)

    def node(ring: np.ndarray, place: np.ndarray) -> np.ndarray:
        return 1 + (ring - 1) * N_AROUND + place % N_AROUND

    place = np.arange(N_AROUND)
    cells = [np.column_stack([np.zeros(N_AROUND, int), node(1, place), node(1, place + 1)])]
    for ring in range(1, N_RINGS):
        a, b, c, d = node(ring, place), node(ring, place + 1), node(ring + 1, place), node(ring + 1, place + 1)
        cells += [np.column_stack([a, c, d]), np.column_stack([a, d, b])]
    return radius, angle, np.vstack(cells)


def main(folder: Path, n: int, seed: int = 0) -> None:
    """Write n meshes to train on and 1000 to test, and a table with both."""
    rng = np.random.default_rng(seed)
    total = n + N_TEST
    a = rng.uniform(-1, 1, (total, 5)) * 0.18 / np.arange(1, 6)
    b = rng.uniform(-1, 1, (total, 5)) * 0.18 / np.arange(1, 6)
    speed, load = rng.uniform(0.5, 1.5, total), rng.uniform(1, 3, total)
    radius, angle, cells = template()
    waves = np.arange(1, 6)[:, None] * angle
    outline = 1 + a @ np.cos(waves) + b @ np.sin(waves)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "meshes").mkdir(exist_ok=True)
    names = [f"meshes/{i:06d}.npz" for i in range(total)]
    for name, stretch in zip(names, outline, strict=True):
        points = (radius * stretch)[:, None] * np.column_stack([np.cos(angle), np.sin(angle)])
        with open(folder / name, "wb") as file:  # Mesh.write waits for the disk, file by file
            write_npz(file, Mesh(points, {"triangle": cells}))
    edge = outline[:, -N_AROUND:]
    area, narrow = (edge**2).mean(axis=1), edge.min(axis=1)
    flow = speed * area**1.5 + 0.4 * np.sin(4 * narrow) * load + 0.5 * a[:, 1] * b[:, 2] / 0.01
    stiffness = np.log(load) * (narrow**2 + 2 * a[:, 0] * b[:, 1]) + 0.3 * speed * np.tanh(5 * (a[:, 2] - b[:, 0]))
    noise = rng.normal(size=(2, total))
    table = pd.DataFrame({"mesh": names, "speed": speed, "load": load})
    table["flow"] = flow + 0.01 * flow.std() * noise[0]
    table["stiffness"] = stiffness + 0.01 * stiffness.std() * noise[1]
    table["split"] = ["train"] * n + ["test"] * N_TEST
    table.to_csv(folder / "table.csv", index=False)
    few = pd.concat([table[: min(n, 2000)], table[n:]])
    few.to_csv(folder / "few.csv", index=False)


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
