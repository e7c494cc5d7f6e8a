"""PLAID's ``POST /process``: a sample in, the same sample with predictions out, as pyplaid's client speaks.

A sample is a list of CGNS trees, one for each time; a node of a tree is an object with ``name``, ``label``, ``value``
and ``children``, and an array its type, its shape and its bytes in base 64. Numbers are in the base "Global". pyplaid
itself is not needed.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from swwl.errors import InputError, located
from swwl.mesh.io.hdf.cgns import mesh_of_tree, scalars_of_tree
from swwl.mesh.mesh import Mesh
from swwl.storage.checks import shown

_SAMPLE, _TREE, _VERSION = "plaid-sample-json", "plaid-cgns-tree-json", 1
_DEPTH = 64


def sample_of(payload: Any) -> tuple[list[Any], dict[str, float]]:
    """Return the tree of a sample's first time, as lists, and the numbers of it.

    Parameters
    ----------
    payload : dict
        What pyplaid makes of a sample.
    """
    _check(payload, _SAMPLE, "sample")
    trees = payload.get("trees")
    if not isinstance(trees, list) or not trees or not isinstance(trees[0], dict):
        raise InputError("The sample has no trees: at least one is wanted.")
    tree: Any = trees[0].get("tree")
    _check(tree, _TREE, "tree of the sample")
    with located("sample"):
        try:
            found = _node(tree.get("tree"), 0)
            return found, scalars_of_tree(found)
        except InputError:
            raise
        except Exception as error:  # whatever a tree that is not one makes of the reader
            raise InputError(f"it is not a CGNS tree ({str(error)[:120]})") from None


def mesh_of_sample(tree: list[Any]) -> tuple[Mesh, str]:
    """Return the mesh of a sample's tree, and a digest of its content."""
    with located("sample"):
        try:
            mesh = mesh_of_tree(tree)
        except InputError:
            raise
        except Exception as error:
            raise InputError(f"its mesh cannot be read ({str(error)[:120]})") from None
    digest = hashlib.sha256()
    arrays: list[NDArray[Any]] = [mesh.points, *mesh.cells.values(), *mesh.fields.values()]
    for array in arrays:
        digest.update(f"{array.dtype}{array.shape}".encode())
        digest.update(np.ascontiguousarray(array).tobytes())
    digest.update(repr((list(mesh.cells), list(mesh.fields))).encode())
    return mesh, digest.hexdigest()[:32]


def with_predictions(
    payload: dict[str, Any], scalars: Mapping[str, float], fields: Mapping[str, NDArray[Any]] | None = None
) -> dict[str, Any]:
    """Return a sample with numbers in its base "Global", and fields at the nodes of its zone; others stay.

    Parameters
    ----------
    payload : dict
        A sample that :func:`sample_of` read.
    scalars : mapping of str to float
    fields : mapping of str to ndarray of shape (n,) or (n, c), optional
    """
    answer = json.loads(json.dumps(payload))
    root = answer["trees"][0]["tree"]["tree"]
    base = next((one for one in _children(root, "CGNSBase_t") if one["name"] == "Global"), None)
    if base is None:
        base = _made("Global", "CGNSBase_t", np.array([1, 1], np.int32))
        root["children"].append(base)
    for name, value in scalars.items():
        _put(base, _made(name, "DataArray_t", np.array([value], np.float64)))
    if fields:
        _put_fields(root, fields)
    return answer


def _put_fields(root: dict[str, Any], fields: Mapping[str, NDArray[Any]]) -> None:
    zones = [(base, zone) for base in _children(root, "CGNSBase_t") for zone in _children(base, "Zone_t")]
    zones = [(base, zone) for base, zone in zones if _children(zone, "GridCoordinates_t")]
    if len(zones) != 1:
        raise InputError(f"The sample has {len(zones)} zones, but fields are predicted for one.")
    zone = zones[0][1]
    solution = next((one for one in _children(zone, "FlowSolution_t") if _location(one) == "Vertex"), None)
    if solution is None:
        solution = _made("VertexFields", "FlowSolution_t", None)
        place = _made("GridLocation", "GridLocation_t", np.frombuffer(b"Vertex", "S1"))
        solution["children"].append(place)
        zone["children"].append(solution)
    for name, values in fields.items():
        columns = [values] if values.ndim == 1 else list(values.T)
        names = [name] if values.ndim == 1 else [f"{name}_{axis}" for axis in "xyz"[: len(columns)]]
        for own, column in zip(names, columns, strict=True):
            _put(solution, _made(own, "DataArray_t", np.asarray(column, np.float64)))


def _location(solution: dict[str, Any]) -> str:
    for one in _children(solution, "GridLocation_t"):
        return b"".join(np.ravel(_value(one["value"]))).decode("latin-1").strip()
    return "Vertex"


def _children(node: dict[str, Any], label: str) -> list[dict[str, Any]]:
    return [child for child in node["children"] if child["label"] == label]


def _put(parent: dict[str, Any], node: dict[str, Any]) -> None:
    parent["children"] = [child for child in parent["children"] if child["name"] != node["name"]] + [node]


def _made(name: str, label: str, value: NDArray[Any] | None) -> dict[str, Any]:
    return {"name": name, "label": label, "value": None if value is None else _packed(value), "children": []}


def _packed(array: NDArray[Any]) -> dict[str, Any]:
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


def _check(payload: Any, name: str, what: str) -> None:
    if not isinstance(payload, dict) or payload.get("format") != name or payload.get("version") != _VERSION:
        raise InputError(f"The {what} is not of PLAID's format {name}, version {_VERSION}.")


def _node(node: Any, depth: int) -> list[Any]:
    if depth > _DEPTH:
        raise InputError("its nodes are nested too deep")
    good = isinstance(node, dict) and isinstance(node.get("name"), str) and isinstance(node.get("label"), str)
    if not good or not isinstance(node.get("children"), list):
        raise InputError(f"a node has no name, label or list of children: {shown(node)}")
    with located(node["name"][:80]):
        return [node["name"], _value(node.get("value")), [_node(c, depth + 1) for c in node["children"]], node["label"]]


def _value(value: Any) -> Any:
    if value is None:
        return None
    if isinstance(value, str):
        return np.frombuffer(value.encode("ascii", "replace"), "S1")
    if isinstance(value, (bool, int, float)):
        return np.array([value])
    if not isinstance(value, dict) or value.get("kind") != "ndarray":
        raise InputError(f"its value is {shown(value)}, but an array is wanted")
    try:
        dtype, shape = np.dtype(str(value.get("dtype"))), tuple(int(one) for one in value["shape"])
    except (KeyError, TypeError, ValueError):
        raise InputError(f"its array has no type and shape: {shown(value.get('dtype'))}") from None
    if dtype.kind not in "biufSU" or dtype.itemsize > 1000 or not dtype.itemsize:
        raise InputError(f"its array holds {dtype}, neither numbers nor texts")
    try:
        if value.get("encoding") == "json":
            return np.array(value.get("data"), dtype=dtype).reshape(shape)
        content = base64.b64decode(value.get("data", ""), validate=True)
    except (TypeError, ValueError, binascii.Error):
        raise InputError("the bytes of its array are not base 64") from None
    if min(shape, default=0) < 0 or math.prod(shape) * dtype.itemsize != len(content):
        raise InputError(f"its array declares shape {shape} of {dtype}, but has {len(content)} bytes")
    return np.frombuffer(content, dtype).reshape(shape)


def problem_definition(inputs: list[str], meshes: list[str], targets: list[str], fields: list[str]) -> dict[str, Any]:
    """Return what the model learned from and what it predicts, as PLAID describes a problem."""
    return {
        "name": "swwl",
        "task": "regression",
        "input_features": [*(f"Global/{name}" for name in inputs), *meshes],
        "output_features": [*(f"Global/{name}" for name in targets), *fields],
    }
