"""The shape of the project; which room may import from which is checked by import-linter (``make lint``)."""

import ast
import re
from pathlib import Path

import swwl

SOURCE = Path(swwl.__file__).parent


def modules():
    for path in sorted(SOURCE.rglob("*.py")):
        name = ".".join(path.relative_to(SOURCE).with_suffix("").parts).removesuffix("__init__").rstrip(".")
        if name and not name.endswith("__main__"):
            yield name, path


def test_inside_the_library_names_come_from_their_homes():
    for name, path in modules():
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and node.module == "swwl":
                public = [alias.name for alias in node.names if alias.name in swwl.__all__]
                assert not public, f"{name}: line {node.lineno}: {public} has a home of its own"


def test_the_stub_names_what_the_package_exports():
    stub = (SOURCE / "__init__.pyi").read_text(encoding="utf-8")
    named = {alias.asname: node.module for node in ast.walk(ast.parse(stub)) if isinstance(node, ast.ImportFrom)
             for alias in node.names}  # fmt: skip
    assert named == swwl._PUBLIC
    for name in swwl.__all__:
        assert getattr(swwl, name) is not None


def test_no_code_outside_the_kernels_asks_for_a_kernels_class():
    kinds = "SWWL|ASWWL|PrincipalSWWL|Numeric|Matern52|Precomputed|Rows|Baseline|GramBaseline|WWL|FGW|RPW|Propagation"
    for name, path in modules():
        if not name.startswith(("kernels", "classification.baselines")):
            found = re.findall(
                rf"isinstance\([^)]*\b(?:{kinds})\b|type\(\w+\) (?:is|in|not in)", path.read_text("utf-8")
            )
            assert not found, f"{name}: {found}"
