"""The shape of the project: imports go up the page, files hold one idea, nothing is written twice."""

import ast
import re
from collections import defaultdict
from pathlib import Path

import pytest

import swwl

SOURCE = Path(swwl.__file__).parent

# Data flows down this page; a module imports only from above it.
PAGE = """
errors words parallel storage restore
mesh.arrays mesh.endings mesh.cells mesh.boundary mesh.adjacency mesh.graph mesh.mesh mesh.turns
mesh.skin mesh.facts mesh.sampling mesh.sizes_adjoint mesh.sampling_adjoint mesh.summaries mesh.summaries_adjoint
mesh.density mesh.labels mesh.io.* mesh.transfer mesh.outline mesh.coarsen mesh
embedding.wl embedding.wl_adjoint embedding.sliced embedding.sliced_adjoint embedding.clouds embedding.source
embedding.options embedding.pipeline embedding.batches
embedding.distances embedding.components embedding.transformer embedding.summaries embedding.linear embedding.modes
embedding.together embedding.sampled embedding.store embedding
gp.correlations gp.between gp.blocks gp.joint gp.radial gp.factors gp.prior gp.prediction gp.*
kernels.indefinite kernels.base kernels.numeric kernels.elliptic kernels.categories kernels.sliced
kernels.components kernels.precomputed kernels.together kernels
kernels.baselines.common kernels.baselines.*
fields.correspondence fields.stiffness fields.panels fields.slitmap fields.walls fields.descriptors fields.basis
fields.modes fields.warps fields.values fields.shapes fields.scores fields.derived
fields.numbererrors fields
models.cells models.tablefile models.tables models.trend models.defaults models.processes models.selection
models.calibration models.stacking models.members models.fitting models.large models.modelfile
models.basis models.restored models.regressorstate design.clouds design.domain models.sensitivity models.slopes
models.predicting models.regression models.prepared
models.fieldkernels models.fieldmodel models.fieldcoding models.fieldnumbers models.fieldprocesses models.fieldchoice
models.fieldfit models.fieldtraining models.fieldrestored models.fieldstate models.fields models.fieldprepared
models.fieldmodes
models.choice models.classification models
evaluation.metadata evaluation.scores evaluation.fieldscores evaluation.fieldmetadata evaluation.curves
evaluation.folds evaluation.nested_cv evaluation
design.*
datasets.*
plots.*
report.*
jobs.*
serve.*
cli.*
"""
RANKS = {pattern: rank for rank, pattern in enumerate(PAGE.split())}


def modules():
    for path in sorted(SOURCE.rglob("*.py")):
        name = ".".join(path.relative_to(SOURCE).with_suffix("").parts).removesuffix("__init__").rstrip(".")
        if name and not name.endswith("__main__"):
            yield name, path


def rank_of(name):
    """Return the place of a module on the page: by its own name, or by that of the nearest room with a star."""
    if name in RANKS:
        return RANKS[name]
    room = name
    while "." in room:
        room = room.rpartition(".")[0]
        if f"{room}.*" in RANKS:
            return RANKS[f"{room}.*"]
    return RANKS.get(f"{name}.*")


def imports(path):
    """Yield what a module imports from swwl, in functions too, and on which line."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: line {node.lineno}: imports are absolute"
            if node.module == "swwl" or (node.module or "").startswith("swwl."):
                for alias in node.names:
                    whole = f"{node.module}.{alias.name}".removeprefix("swwl").lstrip(".")
                    yield whole if whole in NAMES else (node.module or "").removeprefix("swwl").lstrip("."), node.lineno
        elif isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name.startswith("swwl."):
                    yield alias.name.removeprefix("swwl."), node.lineno


NAMES = {name for name, _ in modules()}


def test_every_module_has_a_place_on_the_page():
    assert not [name for name in NAMES if rank_of(name) is None]


@pytest.mark.parametrize(("name", "path"), list(modules()), ids=[name for name, _ in modules()])
def test_imports_go_up_the_page(name, path):
    for imported, line in imports(path):
        home = imported
        if imported in swwl.__all__ or imported == "":  # a public name, or the version
            continue
        while home not in NAMES:
            home = home.rpartition(".")[0]
        same_room = rank_of(home) == rank_of(name)
        assert rank_of(home) < rank_of(name) or same_room, f"line {line}: {name} reaches down to {imported}"


def test_inside_the_library_names_come_from_their_homes():
    for name, path in modules():
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and node.module == "swwl":
                public = [alias.name for alias in node.names if alias.name in swwl.__all__]
                assert not public, f"{name}: line {node.lineno}: {public} has a home of its own"


def test_no_file_is_longer_than_450_lines():
    long = {name: count for name, path in modules() if (count := len(path.read_text("utf-8").splitlines())) > 450}
    assert not long


def test_nothing_is_written_twice():
    """No two places share twelve lines of code or more; blank lines, comments, docstrings and imports do not count."""
    places = defaultdict(list)
    for name, path in modules():
        lines = code_lines(path)
        for start in range(len(lines) - 11):
            places[tuple(text for _, text in lines[start : start + 12])].append(f"{name}:{lines[start][0]}")
    assert not [where for where in places.values() if len(where) > 1]


def code_lines(path):
    """Return (number, text) of the lines that hold code."""
    text = path.read_text(encoding="utf-8")
    skipped = set()
    for node in ast.walk(ast.parse(text)):
        is_text = (
            isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
        )
        if is_text or isinstance(node, (ast.Import, ast.ImportFrom)):
            skipped.update(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    lines = (
        (number, re.sub(r"\s+", " ", line.split("#")[0].strip())) for number, line in enumerate(text.splitlines(), 1)
    )
    return [
        (number, line) for number, line in lines if line and number not in skipped and not re.fullmatch(r"\W*", line)
    ]


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
        if not name.startswith("kernels"):
            found = re.findall(
                rf"isinstance\([^)]*\b(?:{kinds})\b|type\(\w+\) (?:is|in|not in)", path.read_text("utf-8")
            )
            assert not found, f"{name}: {found}"
