"""PLAID's ``POST /process``: a sample in, the same sample with predictions out, as pyplaid's client speaks.

A sample is a list of CGNS trees, one for each time; numbers are in the base "Global". pyplaid itself is not needed.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from swwl.errors import InputError, located
from swwl.mesh.io.hdf.cgns import mesh_of_tree, scalars_of_tree
from swwl.mesh.mesh import Mesh
from swwl.serve.requests.questions import Node, SampleTree
from swwl.storage.checks import shown

Array = NDArray[Any]
Tree = list[Any]  # a name, a value, children and a label, as CGNS trees are written in Python


def sample_of(sample: SampleTree) -> tuple[Tree, dict[str, float]]:
    """Return the tree of a sample's first time, and the numbers of it."""
    with located("sample"):
        try:
            found = _listed(sample.trees[0].tree.tree)
            return found, scalars_of_tree(found)
        except InputError:
            raise
        except Exception as error:  # whatever a tree that is not one makes of the reader
            raise InputError(f"it is not a CGNS tree ({str(error)[:120]})") from None


def mesh_of_sample(tree: Tree) -> tuple[Mesh, str]:
    """Return the mesh of a sample's tree, and a digest of its content."""
    with located("sample"):
        try:
            mesh = mesh_of_tree(tree)
        except InputError:
            raise
        except Exception as error:
            raise InputError(f"its mesh cannot be read ({str(error)[:120]})") from None
    digest = hashlib.sha256()
    arrays: list[Array] = [mesh.points, *mesh.cells.values(), *mesh.fields.values()]
    for array in arrays:
        digest.update(f"{array.dtype}{array.shape}".encode())
        digest.update(np.ascontiguousarray(array).tobytes())
    digest.update(repr((list(mesh.cells), list(mesh.fields))).encode())
    return mesh, digest.hexdigest()[:32]


def with_predictions(
    sample: SampleTree, scalars: Mapping[str, float], fields: Mapping[str, Array] | None = None
) -> dict[str, object]:
    """Return a sample with numbers in its base "Global", and fields at the nodes of its zone; others stay.

    Parameters
    ----------
    sample : SampleTree
        One that :func:`sample_of` read.
    scalars : mapping of str to float
    fields : mapping of str to ndarray of shape (n,) or (n, c), optional
    """
    answer = sample.model_copy(deep=True)
    root = answer.trees[0].tree.tree
    base = next((one for one in _children(root, "CGNSBase_t") if one.name == "Global"), None)
    if base is None:
        base = _made("Global", "CGNSBase_t", np.array([1, 1], np.int32))
        root.children.append(base)
    for name, value in scalars.items():
        _put(base, _made(name, "DataArray_t", np.array([value], np.float64)))
    if fields:
        _put_fields(root, fields)
    return answer.model_dump()


def _put_fields(root: Node, fields: Mapping[str, Array]) -> None:
    zones = [zone for base in _children(root, "CGNSBase_t") for zone in _children(base, "Zone_t")]
    zones = [zone for zone in zones if _children(zone, "GridCoordinates_t")]
    if len(zones) != 1:
        raise InputError(f"The sample has {len(zones)} zones, but fields are predicted for one.")
    solution = next((one for one in _children(zones[0], "FlowSolution_t") if _location(one) == "Vertex"), None)
    if solution is None:
        solution = _made("VertexFields", "FlowSolution_t", None)
        solution.children.append(_made("GridLocation", "GridLocation_t", np.frombuffer(b"Vertex", "S1")))
        zones[0].children.append(solution)
    for name, values in fields.items():
        columns = [values] if values.ndim == 1 else list(values.T)
        names = [name] if values.ndim == 1 else [f"{name}_{axis}" for axis in "xyz"[: len(columns)]]
        for own, column in zip(names, columns, strict=True):
            _put(solution, _made(own, "DataArray_t", np.asarray(column, np.float64)))


def _location(solution: Node) -> str:
    for one in _children(solution, "GridLocation_t"):
        return b"".join(np.ravel(np.asarray(_value(one.value)))).decode("latin-1").strip()
    return "Vertex"


def _children(node: Node, label: str) -> list[Node]:
    return [child for child in node.children if child.label == label]


def _put(parent: Node, node: Node) -> None:
    parent.children = [child for child in parent.children if child.name != node.name] + [node]


def _made(name: str, label: str, value: Array | None) -> Node:
    return Node(name=name, label=label, value=None if value is None else _packed(value), children=[])


def _packed(array: Array) -> dict[str, object]:
    little = np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("<"))
    return {
        "kind": "ndarray",
        "encoding": "base64",
        "dtype": little.dtype.str,
        "shape": list(little.shape),
        "order": "C",
        "byte_order": "little" if little.dtype.itemsize > 1 else "not-applicable",
        "data": base64.b64encode(little.tobytes()).decode("ascii"),
    }


def _listed(node: Node) -> Tree:
    with located(node.name[:80]):
        return [node.name, _value(node.value), [_listed(child) for child in node.children], node.label]


def _value(value: object) -> Array | None:
    if value is None:
        return None
    if isinstance(value, str):
        return np.frombuffer(value.encode("ascii", "replace"), "S1")
    if isinstance(value, (bool, int, float)):
        return np.array([value])
    if not isinstance(value, dict) or value.get("kind") != "ndarray":
        raise InputError(f"its value is {shown(value)}, but an array is expected")
    try:
        dtype, shape = np.dtype(str(value.get("dtype"))), tuple(int(one) for one in value["shape"])
    except (KeyError, TypeError, ValueError):
        raise InputError(f"its array has no type and shape: {shown(value.get('dtype'))}") from None
    if dtype.kind not in "biufSU" or dtype.itemsize > 1000 or not dtype.itemsize:
        raise InputError(f"its array holds {dtype}, neither numbers nor strings")
    try:
        if value.get("encoding") == "json":
            return np.array(value.get("data"), dtype=dtype).reshape(shape)
        content = base64.b64decode(value.get("data", ""), validate=True)
    except (TypeError, ValueError, binascii.Error):
        raise InputError("the bytes of its array are not base 64") from None
    if min(shape, default=0) < 0 or math.prod(shape) * dtype.itemsize != len(content):
        raise InputError(f"its array declares shape {shape} of {dtype}, but has {len(content)} bytes")
    return np.frombuffer(content, dtype).reshape(shape)


def problem_definition(
    inputs: list[str], meshes: list[str], targets: list[str], fields: list[str]
) -> dict[str, object]:
    """Return what the model learned from and what it predicts, as PLAID describes a problem."""
    return {
        "name": "swwl",
        "task": "regression",
        "input_features": [*(f"Global/{name}" for name in inputs), *meshes],
        "output_features": [*(f"Global/{name}" for name in targets), *fields],
    }
