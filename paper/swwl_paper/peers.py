"""The same regression with other software: each function fits a peer and predicts, in as few lines as it takes.

All take training meshes, numbers (N, m) and targets (N,), and new meshes and numbers, and return a
:class:`swwl.Prediction`. Choices inside them (components, layers, epochs) are usual ones, fixed beforehand; what
chooses itself does so on the training cases alone.
"""

from __future__ import annotations

import importlib.util
import inspect
import warnings
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.spatial import cKDTree
from scipy.spatial.distance import cdist

from swwl.errors import IndefiniteKernelWarning
from swwl.gp import Prediction, RobustGP
from swwl.kernels import Factor, Matern52, Product
from swwl.mesh.mesh import Mesh
from swwl.regression.estimator import RobustGPRegressor

Array = NDArray[np.float64]
Peer = Callable[[Sequence[Mesh], Array, Array, Sequence[Mesh], Array], Prediction]

# A prediction of a process with known variance: nearly normal.
_MANY = 10_000
_EPOCHS, _WIDTH, _MEMBERS = 150, 32, 3


def _regressor(kernel: Factor | None) -> Peer:
    def fit_and_predict(
        train: Sequence[Mesh], numbers: Array, y: Array, new: Sequence[Mesh], new_numbers: Array
    ) -> Prediction:
        names = [f"x{j}" for j in range(numbers.shape[1])]

        def table(meshes: Sequence[Mesh], values: Array) -> pd.DataFrame:
            return pd.DataFrame(values, columns=names).assign(mesh=list(meshes))

        product = None if kernel is None else Product(kernel, *map(Matern52, names))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", IndefiniteKernelWarning)
            model = RobustGPRegressor(product).fit(table(train, numbers), y)
        return model.predict_distribution(table(new, new_numbers), widen=False)

    return fit_and_predict


def swwl_default(*data: Any) -> Prediction:
    """Fit swwl without naming a kernel."""
    return _regressor(None)(*data)


def swwl_paper_kernel(*data: Any) -> Prediction:
    """Fit the paper's kernel."""
    from swwl.kernels import SWWL

    return _regressor(SWWL("mesh"))(*data)


def pot_wwl(*data: Any) -> Prediction:
    """Fit a Gaussian process to exact Wasserstein distances (WWL) by POT."""
    from swwl.classification.baselines import WWL

    return _regressor(WWL("mesh"))(*data)


def grakel_propagation(*data: Any) -> Prediction:
    """Fit a Gaussian process to the propagation kernel of GraKeL."""
    from swwl.classification.baselines import Propagation

    return _regressor(Propagation("mesh", w=0.1))(*data)


def resampled(meshes: Sequence[Mesh], template: Array) -> Array:
    """Return the coordinates of the nodes nearest to those of a template, both in the unit box: rows of one length."""

    def boxed(points: Array) -> Array:
        low, size = points.min(axis=0), np.ptp(points, axis=0)
        return np.asarray((points - low) / np.where(size == 0, 1, size))

    wanted = boxed(template)
    return np.stack([mesh.points[cKDTree(boxed(mesh.points)).query(wanted)[1]].ravel() for mesh in meshes])


def sklearn_pca(train: Sequence[Mesh], numbers: Array, y: Array, new: Sequence[Mesh], new_numbers: Array) -> Prediction:
    """Fit scikit-learn's Gaussian process to principal components of resampled coordinates."""
    from sklearn.decomposition import PCA
    from sklearn.gaussian_process import GaussianProcessRegressor
    from sklearn.gaussian_process.kernels import ConstantKernel, Matern, WhiteKernel
    from sklearn.preprocessing import StandardScaler

    template = train[0].points
    shared = len({mesh.points.shape for mesh in [*train, *new]}) == 1

    def shapes(meshes: Sequence[Mesh]) -> Array:
        return np.stack([mesh.points.ravel() for mesh in meshes]) if shared else resampled(meshes, template)

    pca = PCA(min(8, len(train) - 1), whiten=True).fit(shapes(train))
    scaler = StandardScaler().fit(numbers)

    def rows(meshes: Sequence[Mesh], values: Array) -> Array:
        return np.hstack([pca.transform(shapes(meshes)), scaler.transform(values)])

    inputs = rows(train, numbers)
    kernel = ConstantKernel() * Matern(np.ones(inputs.shape[1]), (1e-2, 1e3), nu=2.5) + WhiteKernel(1e-4, (1e-8, 1))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of ranges at their bounds
        gp = GaussianProcessRegressor(kernel, normalize_y=True, n_restarts_optimizer=2, random_state=0).fit(inputs, y)
    mean, std = gp.predict(rows(new, new_numbers), return_std=True)
    return Prediction(mean, std, _MANY)


def smt_kpls(
    train: Sequence[Mesh], numbers: Array, y: Array, new: Sequence[Mesh], new_numbers: Array
) -> Prediction | None:
    """Fit SMT's KPLS to the coordinates of all nodes, where all meshes have the same ones; otherwise return None."""
    smt: Any = import_module("smt.surrogate_models")
    if len({mesh.points.shape for mesh in [*train, *new]}) > 1:
        return None

    def rows(meshes: Sequence[Mesh], values: Array) -> Array:
        return np.hstack([np.stack([mesh.points.ravel() for mesh in meshes]), values])

    inputs = rows(train, numbers)
    varies = np.ptp(inputs, axis=0) > 0
    model = smt.KPLS(n_comp=4, eval_n_comp=False, print_global=False, nugget=1e-8)
    model.set_training_values(inputs[:, varies], y[:, None])
    model.train()
    at = rows(new, new_numbers)[:, varies]
    variance = np.maximum(model.predict_variances(at)[:, 0], 0)
    return Prediction(model.predict_values(at)[:, 0], np.sqrt(variance), _MANY)


def torch_quantiles(
    train: Sequence[Mesh], numbers: Array, y: Array, new: Sequence[Mesh], new_numbers: Array
) -> Prediction:
    """Fit the robust Gaussian process to SWWL rows made as the authors make them: PyTorch Geometric, torch.quantile."""
    torch: Any = import_module("torch")
    nn: Any = import_module("torch_geometric.nn")
    generator = torch.Generator().manual_seed(0)
    mean_of_neighbors = nn.SimpleConv(aggr="mean")
    levels = torch.linspace(0, 1, 500)
    directions: Any = None
    found = []
    for mesh in [*train, *new]:
        edges = torch.as_tensor(np.vstack([mesh.graph().edges, mesh.graph().edges[:, ::-1]]).T.astype(np.int64))
        features = [torch.tensor(mesh.points, dtype=torch.float32)]
        for _ in range(3):
            features.append((features[-1] + mean_of_neighbors(features[-1], edges)) / 2)
        embedded = torch.hstack(features)
        if directions is None:
            directions = torch.nn.functional.normalize(torch.randn(embedded.shape[1], 50, generator=generator), dim=0)
        found.append(torch.quantile(embedded @ directions, levels, dim=0).ravel().numpy())
    rows = np.stack(found) / np.sqrt(50 * 500)
    mesh_distances = cdist(rows, rows[: len(train)])
    everything = np.vstack([numbers, new_numbers])
    by_number = [np.abs(column[:, None] - column[None, : len(train)]) for column in everything.T]
    distances = [mesh_distances, *by_number]
    gp = RobustGP(["gaussian", *["matern52"] * len(by_number)]).fit([d[: len(train)] for d in distances], y)
    return gp.predict_distribution([d[len(train) :] for d in distances])


def pyg_network(train: Sequence[Mesh], numbers: Array, y: Array, new: Sequence[Mesh], new_numbers: Array) -> Prediction:
    """Train three small graph networks (PyTorch Geometric, CPU), each stopped by a sixth of the cases held back."""
    torch: Any = import_module("torch")
    nn: Any = import_module("torch_geometric.nn")
    graphs: Any = import_module("torch_geometric.data")
    together = graphs.Batch.from_data_list
    center = np.mean([mesh.points.mean(axis=0) for mesh in train], axis=0)
    size = np.mean([mesh.points.std() for mesh in train])
    low, spread = numbers.mean(axis=0), numbers.std(axis=0)
    shift, scale = y.mean(), y.std()

    def data(mesh: Mesh, values: Array) -> Any:
        edges = mesh.graph().edges
        both = torch.as_tensor(np.vstack([edges, edges[:, ::-1]]).T.astype(np.int64))
        x = torch.as_tensor((mesh.points - center) / size, dtype=torch.float32)
        u = torch.as_tensor((values - low) / spread, dtype=torch.float32)[None]
        return graphs.Data(x=x, edge_index=both, u=u)

    class Network(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            sizes = [train[0].points.shape[1], *[_WIDTH] * 3]
            self.layers = torch.nn.ModuleList(
                nn.GraphConv(a, b, aggr="mean") for a, b in zip(sizes[:-1], sizes[1:], strict=True)
            )
            wide = 2 * _WIDTH + numbers.shape[1]
            self.head = torch.nn.Sequential(
                torch.nn.Linear(wide, 64), torch.nn.SiLU(), torch.nn.Linear(64, 64), torch.nn.SiLU(),
                torch.nn.Linear(64, 1),
            )  # fmt: skip

        def forward(self, batch: Any) -> Any:
            x = batch.x
            for layer in self.layers:
                x = torch.nn.functional.silu(layer(x, batch.edge_index))
            pooled = [nn.global_mean_pool(x, batch.batch), nn.global_max_pool(x, batch.batch), batch.u]
            return self.head(torch.hstack(pooled))[:, 0]

    known = [data(mesh, row) for mesh, row in zip(train, numbers, strict=True)]
    asked = together([data(mesh, row) for mesh, row in zip(new, new_numbers, strict=True)])
    wanted = torch.as_tensor((y - shift) / scale, dtype=torch.float32)
    answers: list[Any] = []
    errors: list[float] = []
    for seed in range(_MEMBERS):
        torch.manual_seed(seed)
        order = np.random.default_rng(seed).permutation(len(known))
        held, used = order[: len(order) // 6], order[len(order) // 6 :]
        network = Network()
        optimizer = torch.optim.AdamW(network.parameters(), lr=3e-3, weight_decay=1e-4)
        schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, _EPOCHS)
        judged = together([known[i] for i in held])
        best, kept = np.inf, np.zeros(len(new))
        for _ in range(_EPOCHS):
            network.train()
            shuffled = used[torch.randperm(len(used)).numpy()]
            for part in np.array_split(shuffled, max(1, len(used) // 16)):
                loss = torch.mean((network(together([known[i] for i in part])) - wanted[part]) ** 2)
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
            schedule.step()
            network.eval()
            with torch.no_grad():
                error = float(torch.mean((network(judged) - wanted[held]) ** 2))
                if error < best:
                    best, kept = error, network(asked).numpy()
        answers.append(kept)
        errors.append(best)
    # The spread of the members, and what each of them misses of cases held back.
    std = np.sqrt(np.var(answers, axis=0) + np.mean(errors))
    return Prediction(shift + scale * np.mean(answers, axis=0), scale * std, _MANY)


PEERS: dict[str, tuple[str, tuple[str, ...], Callable[..., Prediction | None]]] = {
    "swwl": ("swwl, the default", (), swwl_default),
    "paper": ("swwl, the paper's kernel", (), swwl_paper_kernel),
    "sklearn": ("scikit-learn GP, PCA of resampled nodes", (), sklearn_pca),
    "smt": ("SMT, KPLS of all nodes", ("smt",), smt_kpls),
    "torch": ("the authors' route: PyG, torch.quantile", ("torch", "torch_geometric"), torch_quantiles),
    "pot": ("POT, exact WWL", ("ot",), pot_wwl),
    "grakel": ("GraKeL, propagation", ("grakel",), grakel_propagation),
    "network": ("graph network (PyG), 3 members", ("torch", "torch_geometric"), pyg_network),
}


def lines_of(name: str) -> int:
    """Return how many lines of code a peer takes, with the functions of this file that it calls."""
    text = inspect.getsource(PEERS[name][2])
    text += "".join(inspect.getsource(helper) for helper in (_regressor, resampled) if f"{helper.__name__}(" in text)
    return len([line for line in text.splitlines() if line.strip()])


def lacking(name: str) -> list[str]:
    """Return the packages that a peer needs and that are not installed.

    Examples
    --------
    >>> lacking("swwl")
    []
    """
    return [package for package in PEERS[name][1] if importlib.util.find_spec(package) is None]
