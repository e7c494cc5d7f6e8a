"""The shape of the project; which room may import from which is checked by import-linter (``make lint``)."""

import ast
import re
from collections import defaultdict
from functools import cache
from pathlib import Path

import swwl

SOURCE = Path(swwl.__file__).parent
TESTS = Path(__file__).parent


@cache
def text_of(path):
    return path.read_text(encoding="utf-8")


def modules():
    for path in sorted(SOURCE.rglob("*.py")):
        name = ".".join(path.relative_to(SOURCE).with_suffix("").parts).removesuffix("__init__").rstrip(".")
        if name and not name.endswith("__main__"):
            yield name, path


IMPORT = re.compile(
    r"^[ ]*from (swwl[\w.]*) import (?:\(([^)]*)\)|(.*))$|^[ ]*import (swwl[\w.]*)|\"(swwl\.[\w.]+)\"", re.M
)


@cache
def imports(path):
    """Return pairs of a module and a name in it, or None where the module itself is imported.

    Texts count that name a module or what is in it, as ``monkeypatch.setattr("swwl.gp.search.minimize", ...)`` does.
    """
    found = []
    for module, several, one, whole, said in IMPORT.findall(text_of(path)):
        names = [part.split("#")[0].split(" as ")[0].strip() for part in (several or one).split(",")]
        found += [(module, name) for name in names if name] if module else [(whole or said, None)]
    return found


def home(module, name):
    """Return the module in which a name is defined that packages on the way hand on."""
    if module == "swwl" and name in swwl._PUBLIC:
        return home(swwl._PUBLIC[name], name)
    package = SOURCE.parent.joinpath(*module.split("."), "__init__.py")
    if package.is_file() and name:
        for origin, handed_on in imports(package):
            if handed_on == name and origin.startswith("swwl"):
                return home(origin, name)
        return f"{module}.{name}"
    return module


def test_inside_the_library_names_come_from_their_homes():
    for name, path in modules():
        public = [wanted for module, wanted in imports(path) if module == "swwl" and wanted in swwl.__all__]
        assert not public, f"{name}: {public} has a home of its own"


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
        if not name.startswith(("kernels", "classification.baselines", "storage")):  # nothing in storage knows a kernel
            found = re.findall(rf"isinstance\([^)]*\b(?:{kinds})\b|type\(\w+\) (?:is|in|not in)", text_of(path))
            assert not found, f"{name}: {found}"


def commands():
    """Return the module of each command by its name."""
    return {name: module for module, name in imports(SOURCE / "cli" / "app.py") if module.startswith("swwl.cli.")}


def test_every_module_is_imported_by_a_test():
    """By one of its own room, with its own name or through the package that hands it on; commands are run instead."""
    imported = defaultdict(set)
    for path in TESTS.rglob("*.py"):
        room = path.relative_to(TESTS).parts[0]
        for module, name in imports(path):
            if module.partition(".")[0] == "swwl":
                given = {module, home(module, name)} | ({f"{module}.{name}"} if name else set())
                # a string may name a function or an attribute of a module
                imported[room] |= given | {module.rpartition(".")[0], module.rpartition(".")[0].rpartition(".")[0]}
    said = {word for path in (TESTS / "cli").glob("*.py") for word in re.findall(r'"(\w+)"', text_of(path))}
    imported["cli"] |= {module for name, module in commands().items() if name in said}
    everywhere = set().union(*imported.values())
    lacking = set()
    for name, path in modules():
        room = name.partition(".")[0]
        known = imported[room] if path.parent != SOURCE else everywhere
        if path.name != "__init__.py" and f"swwl.{name}" not in known:
            lacking.add(name)
    assert not lacking, f"imported by no test of their room: {sorted(lacking)}"


MOST_FILES, MOST_ANY = 325, 900


def test_few_files_and_small_folders():
    folders = defaultdict(list)
    for path in SOURCE.rglob("*.py"):
        folders[path.parent.relative_to(SOURCE).as_posix()].append(path.name)
    assert {folder: len(files) for folder, files in folders.items() if len(files) > 18} == {}
    assert sum(map(len, folders.values())) <= MOST_FILES


def test_a_class_name_means_one_thing():
    homes = defaultdict(list)
    for name, path in modules():
        for found in re.findall(r"^class (\w+)", text_of(path), re.M):
            homes[found].append(name)
    twice = {name: places for name, places in homes.items() if len(places) > 1}
    assert twice == {}


def test_any_is_rare():
    found = sum(len(re.findall(r"\bAny\b", text_of(path))) for _, path in modules())
    assert found <= MOST_ANY
