"""Names of what factors keep of meshes: the same where the same is kept, and other where it is not."""

import pytest

from swwl import SWWL, Components, PrincipalSWWL
from swwl.kernels.stored import recipe


@pytest.mark.parametrize(
    "change", [{"n_quantiles": 99}, {"random_state": 1}, {"n_iterations": 1}, {"node_weights": "area"}]
)
def test_what_changes_the_rows_changes_the_name(change):
    assert recipe(PrincipalSWWL("mesh")) != recipe(PrincipalSWWL("mesh", **change))


def test_what_does_not_change_them_does_not():
    assert recipe(PrincipalSWWL("mesh")) == recipe(PrincipalSWWL("mesh", n_components=3, n_jobs=2, memory="elsewhere"))
    assert recipe(SWWL("mesh", fields=["T"])) == recipe(SWWL("mesh", fields=("T",)))
    assert recipe(SWWL("mesh")) != recipe(Components("mesh")) != recipe(PrincipalSWWL("mesh"))
