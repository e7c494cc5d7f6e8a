import numpy as np
import pytest

from swwl import ASWWL, SWWL, Matern52, Power, Precomputed, PrincipalSWWL, RobustGPRegressor, load_model
from swwl.errors import InputError
from swwl.kernels import Factor
from tests.helpers import SMALL, plates, rewrite_model


@pytest.fixture(scope="module")
def table():
    return plates(40).assign(id=np.arange(40), force=lambda t: t["load"] ** 2)


KERNELS = {
    "principal": PrincipalSWWL("mesh", n_components=3, **SMALL) * Matern52("load"),
    "chosen": PrincipalSWWL("mesh", node_weights="uniform", scale=True, **SMALL),
    "swwl": SWWL("mesh", alpha=1.5, scale=[1.0, 2.0], step="sqrt", **SMALL) * Power("load", 1.5),
    "aswwl": ASWWL("mesh", random_state=np.random.default_rng(3), **SMALL),
    "precomputed": Precomputed("id", np.abs(np.subtract.outer(np.arange(40.0), np.arange(40.0)))) * Matern52("load"),
    "none": None,
}


@pytest.mark.parametrize("name", KERNELS)
def test_a_loaded_model_predicts_bit_for_bit(name, table, tmp_path):
    train, test = table[:30], table[30:]
    inputs = train[["mesh", "load", "weight"]] if name == "none" else train
    options = {"range_uncertainty": True} if name == "principal" else {}
    model = RobustGPRegressor(KERNELS[name], n_starts=1, **options).fit(
        inputs, "force" if name == "precomputed" else "weight"
    )
    model.save(tmp_path / "m.swwl")
    twin = load_model(tmp_path / "m.swwl")
    for ours, theirs in zip(model.predict(test, return_std=True), twin.predict(test, return_std=True), strict=True):
        np.testing.assert_array_equal(ours, theirs)
    np.testing.assert_array_equal(model.predict_interval(test, 0.9), twin.predict_interval(test, 0.9))
    np.testing.assert_array_equal(model.sample(test, 2, 0), twin.sample(test, 2, 0))
    np.testing.assert_array_equal(model.leave_one_out().mean, twin.leave_one_out().mean)
    assert model.importance_.equals(twin.importance_)
    assert model.ranges_.equals(twin.ranges_)
    assert model.selection_.equals(twin.selection_)
    assert model.calibration_.equals(twin.calibration_)
    assert repr(model.kernel_) == repr(twin.kernel_) or name == "aswwl"
    twin.save(tmp_path / "again.swwl")
    if name != "aswwl":  # a generator for a random state is not kept
        assert (tmp_path / "again.swwl").read_bytes() == (tmp_path / "m.swwl").read_bytes()


def test_several_targets(table, tmp_path):
    for options in ({}, {"share_ranges": True}):
        model = RobustGPRegressor(SWWL("mesh", **SMALL), n_starts=1, **options).fit(table[:30], ["weight", "stiffness"])
        model.save(tmp_path / "m.swwl")
        twin = load_model(tmp_path / "m.swwl")
        assert twin.target_names_ == ["weight", "stiffness"]
        np.testing.assert_array_equal(model.predict(table[30:]), twin.predict(table[30:]))


def test_files_that_are_no_models(table, tmp_path):
    model = RobustGPRegressor(Matern52("load"), n_starts=1).fit(table, "force")
    path = tmp_path / "m.swwl"
    model.save(path)
    assert [p.name for p in tmp_path.iterdir()] == ["m.swwl"]
    data = path.read_bytes()
    for name, content in {"cut": data[: len(data) // 2], "empty": b"", "text": b"hello", "tail": data[:-10]}.items():
        (tmp_path / name).write_bytes(content)
        with pytest.raises(ValueError, match=f"{name}: is not a swwl model file, or a damaged one"):
            load_model(tmp_path / name)
    flipped = bytearray(data)
    flipped[len(data) // 2] ^= 255
    (tmp_path / "flipped").write_bytes(flipped)
    with pytest.raises(ValueError, match="damaged"):
        load_model(tmp_path / "flipped")
    np.savez(tmp_path / "foreign.npz", a=np.zeros(3))
    with pytest.raises(ValueError, match="not a swwl model file"):
        load_model(tmp_path / "foreign.npz")
    with pytest.raises(FileNotFoundError, match="nowhere: no such file"):
        load_model(tmp_path / "nowhere")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"version": 4, "swwl": "9.9"}, "was written by swwl 9.9 in format 4, but this is swwl .* reads format 3"),
        ({"version": 2, "swwl": "0.1"}, "was written by swwl 0.1 in format 2"),
        ({"format": "other"}, "is not a swwl model file"),
        ({"members": [{"$object": "Popen", "params": {}, "fitted": {}}]}, "damaged"),
    ],
)
def test_manifests_that_are_not_ours(table, tmp_path, change, message):
    model = RobustGPRegressor(Matern52("load"), n_starts=1).fit(table, "force")
    model.save(tmp_path / "m.swwl")
    rewrite_model(tmp_path / "m.swwl", tmp_path / "new.swwl", lambda manifest, _: manifest.update(change))
    with pytest.raises(ValueError, match=message):
        load_model(tmp_path / "new.swwl")


def test_what_cannot_be_saved(table, tmp_path):
    with pytest.raises(ValueError, match="not fitted"):
        RobustGPRegressor().save(tmp_path / "m.swwl")

    class Own(Matern52):
        pass

    model = RobustGPRegressor(Own("load"), n_starts=1).fit(table, "force")
    assert isinstance(model.kernel_.factors[0], Factor)
    with pytest.raises(TypeError, match="holds Own cannot be saved"):
        model.save(tmp_path / "m.swwl")
    assert not list(tmp_path.iterdir())


def test_metadata_is_kept_and_must_be_plain(table, tmp_path):
    model = RobustGPRegressor(SWWL("mesh", **SMALL), n_starts=1, calibrate=False).fit(table[:30], "weight")
    assert model.metadata_ == {}
    model.metadata_ = {"table": "t.csv", "rows": [1, 2], "held_out": None, "nested": {"a": 1.5}}
    model.save(tmp_path / "m.swwl")
    assert load_model(tmp_path / "m.swwl").metadata_ == model.metadata_
    model.metadata_ = {"what": object()}
    with pytest.raises(TypeError, match="cannot be saved"):
        model.save(tmp_path / "m.swwl")
    assert "nested" in load_model(tmp_path / "m.swwl").metadata_
    rewrite_model(tmp_path / "m.swwl", tmp_path / "less.swwl", lambda manifest, _: manifest.pop("metadata"))
    with pytest.raises(InputError, match=r"less.swwl: was changed after .*, or is damaged \(it has no 'metadata'\)"):
        load_model(tmp_path / "less.swwl")
