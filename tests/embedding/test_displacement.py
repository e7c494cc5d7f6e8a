"""Displacement modes, the options that embeddings share, and shards of a store."""

import os

import numpy as np
import pytest

from swwl import Mesh
from swwl.embedding.components import displacement_modes, same_cells
from swwl.embedding.options import check_exponent, check_measure, check_options, given_scale
from swwl.embedding.stores.store import (
    Shard,
    is_whole,
    plan_shards,
    read_shard,
    remove_stale,
    write_manifest,
    write_shard,
)
from swwl.errors import InputError
from tests.helpers import plate


def meshes(n=9, seed=0):
    points, cells = plate(30)
    widths, heights = np.random.default_rng(seed).uniform(1, 2, (2, n))
    return [Mesh(points * [w, h], {"triangle": cells}) for w, h in zip(widths, heights, strict=True)]


def test_modes_span_the_meshes_and_locate_is_the_inverse_of_move():
    made = meshes()
    modes = displacement_modes(made)
    assert modes.names == ["mode 1", "mode 2"]  # widths and heights are all that differs
    np.testing.assert_allclose(modes.coordinates.std(axis=0), 1)
    np.testing.assert_allclose(modes.coordinates.mean(axis=0), 0, atol=1e-12)
    for mesh, place in zip(made, modes.coordinates, strict=True):
        np.testing.assert_allclose(modes.mean + modes.move(place), mesh.points, atol=1e-9)
        np.testing.assert_allclose(modes.locate(mesh.points), place, atol=1e-9)
    sizes = np.linalg.norm(modes.displacements.reshape(2, -1), axis=1)
    assert sizes[0] >= sizes[1]


def test_meshes_without_modes_are_refused():
    made = meshes(3)
    turned = Mesh(made[0].points, {"triangle": made[0].cells["triangle"][::-1]})
    assert same_cells(made[0], made[1]) and not same_cells(made[0], turned)
    with pytest.raises(InputError, match="Mesh 2 has different cells"):
        displacement_modes([*made[:2], turned])
    with pytest.raises(InputError, match="at least two meshes, not 1"):
        displacement_modes(made[:1])
    with pytest.raises(InputError, match="all the same"):
        displacement_modes([made[0]] * 3)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_projections": 0}, "n_projections must be an integer of at least 1, not 0"),
        ({"n_quantiles": True}, "n_quantiles must be an integer"),
        ({"step": "cube"}, "or \"sqrt\", not 'cube'"),
        ({"r": 3}, r"r must be one of \[1, 2\], not 3"),
        ({"tolerance": -1.0}, "tolerance must not be negative"),
        ({"n_jobs": 0}, "n_jobs must be a number of workers"),
        ({"fields": "T"}, r"such as \['T'\], not one string"),
        ({"merge_nodes": 1}, "merge_nodes must be True or False"),
        ({"learning_rate": np.inf}, "learning_rate must be positive"),
    ],
)
def test_options_that_make_no_sense(options, message):
    with pytest.raises(InputError, match=message):
        check_options({"n_iterations": 3} | options)
    check_options({"n_iterations": 0, "step": "sqrt", "n_jobs": None, "unknown here": object()})


def test_scales_measures_and_exponents():
    np.testing.assert_array_equal(given_scale(None, 3), np.ones(3))
    np.testing.assert_array_equal(given_scale((2, 0.5), 2), [2, 0.5])
    for bad in ([1.0], [1.0, -1], "wide", [1.0, np.nan]):
        with pytest.raises(InputError, match="scale must be True, False or 2 positive numbers"):
            given_scale(bad, 2)
    check_measure({"measure": "nodes", "node_weights": "area"})
    with pytest.raises(InputError, match="already scales normals to coordinates"):
        check_measure({"measure": "skin", "scale": True})
    check_exponent(2)
    with pytest.raises(InputError, match=r"alpha must lie in \(0, 1\], but is 1.5"):
        check_exponent(1.5, 1.0)


def test_shards_come_back_and_their_names_say_what_they_are_made_of(tmp_path):
    for name in "ab":
        (tmp_path / f"{name}.vtu").write_text(name)
    (shard,) = plan_shards("key", "mesh", ["a.vtu", "b.vtu"], tmp_path)
    assert shard == plan_shards("key", "mesh", ["a.vtu", "b.vtu"], tmp_path)[0]
    assert shard.name != plan_shards("other", "mesh", ["a.vtu", "b.vtu"], tmp_path)[0].name
    (tmp_path / "b.vtu").write_text("changed")
    assert shard.name != plan_shards("key", "mesh", ["a.vtu", "b.vtu"], tmp_path)[0].name
    rng = np.random.default_rng(0)
    kept = [(rng.normal(size=(2, 3)).astype(np.float32), rng.random(2).astype(np.float32))]
    write_shard(tmp_path, shard.name, kept, [5, 7], {1: "no cells"})
    first = (tmp_path / shard.name).read_bytes()
    write_shard(tmp_path, shard.name, kept, [5, 7], {1: "no cells"})
    assert (tmp_path / shard.name).read_bytes() == first and is_whole(tmp_path / shard.name)
    ((z, left),), n_nodes, bad = read_shard(tmp_path / shard.name)
    np.testing.assert_array_equal(z, kept[0][0])
    np.testing.assert_array_equal(left, kept[0][1])
    assert n_nodes.tolist() == [5, 7] and bad == {1: "no cells"}
    manifest = write_manifest(tmp_path, "key", tmp_path, [shard])
    assert manifest["bad"] == {"b.vtu": "no cells"} and manifest["shards"][0]["size"] == len(first)
    with pytest.raises(InputError, match="damaged"):
        read_shard(tmp_path / shard.name, checksum="0")
    (tmp_path / shard.name).write_bytes(first[:-30])
    assert not is_whole(tmp_path / shard.name)
    with pytest.raises(InputError, match="swwl embed will make it again"):
        read_shard(tmp_path / shard.name)
    assert isinstance(shard, Shard)


def test_what_killed_runs_left_long_ago_is_removed(tmp_path):
    old, young = tmp_path / ".a.npz.x.part", tmp_path / ".b.npz.x.part"
    for path in (old, young):
        path.write_bytes(b"half")
    os.utime(old, (0, 0))
    remove_stale(tmp_path)
    assert not old.exists() and young.exists()
