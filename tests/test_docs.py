"""Code blocks of README and docs run as they stand; commands of console blocks exist, and those of swwl run.

Sizes are cut so that all of it takes seconds: a command makes fewer and smaller meshes than the page says.
"""

import re
import shlex
import warnings
from pathlib import Path

import numpy as np
import pytest

import swwl as swwl_package
from swwl.errors import CaseWarning
from tests.cli.conftest import SMALL, swwl

ROOT = Path(__file__).parents[1]
PAGES = [
    ROOT / name for name in ("README.md", "CONTRIBUTING.md", "changes/README.md", "paper/README.md", "paper/results.md")
]
PAGES += [
    page for page in sorted(ROOT.glob("docs/**/*.md")) if not {"_build", "gallery", "generated"} & set(page.parts)
]
NAMES = [page.relative_to(ROOT).as_posix() for page in PAGES if page.exists()]
# Pages whose code continues something: what stands before their first block.
BEFORE = {
    "docs/default.md": "train = made()",
    "docs/guide/intervals.md": "train, test = made(), made(12, 7)\nmodel = fitted(train)",
    "docs/guide/symptoms.md": "model = fitted(made())",
    "docs/design.md": "pool, new = made(60), made(4, 7)\nmodel = two_targets(made(14, 3))",
    "docs/sensitivity.md": "train, test = made(), made(4, 7)\nmodel = fitted(train)",
    "docs/together.md": (
        "import pandas as pd\nfrom swwl import RobustGPRegressor\nx = np.random.default_rng(0).uniform(0, 1, 40)\n"
        "runs = pd.DataFrame({'x': x, 'level': ['fine' if k % 4 == 0 else 'coarse' for k in range(40)]})\n"
        "runs['max_stress'] = np.sin(6 * x) + 0.1 * (runs['level'] == 'fine') * x\nnew = runs[['x']][:3]\n"
        "parts = pd.DataFrame({'x': x, 'max_disp': np.exp(x), 'life': np.where(np.arange(40) % 3, np.nan, x**2)})"
    ),
    "docs/fields.md": "from swwl import datasets\ndatasets.write_dataset('tensile2d', 20, 'plates', n_nodes=200)",
}


def blocks(name, language):
    text = (ROOT / name).read_text(encoding="utf-8")
    return re.findall(rf"^```{language}\n(.*?)^```", text, flags=re.M | re.S)


def made(n=14, seed=0):
    from swwl import datasets

    return datasets.make_blade(n, n_nodes=200, random_state=seed)[["mesh", "speed", "pressure", "efficiency"]]


def fitted(train):
    from swwl import RobustGPRegressor

    return RobustGPRegressor().fit(train, "efficiency")


def two_targets(train):
    from swwl import SWWL, Matern52, RobustGPRegressor

    kernel = SWWL("mesh", n_projections=5, n_quantiles=10) * Matern52("speed") * Matern52("pressure")
    return RobustGPRegressor(kernel, calibrate=False).fit(
        train.assign(massflow=20 + train["speed"] / 1e4), ["efficiency", "massflow"]
    )


def smaller(code):
    """Cut sizes of data sets in a block of code."""
    code = re.sub(r"(make_\w+\()\d+", r"\g<1>24", code)
    code = re.sub(r"random_states=\[.*?\]", "random_states=[0], n_outer=3, n_inner=2, Cs=[1.0, 100.0]", code)
    code = code.replace("[:200]", "[:16]").replace("[200:]", "[16:]")
    return code.replace("table[:45], table[45:]", "table[:18], table[18:]")


def two_classes(name, labels=True):
    """Stand in for graphs that are downloaded: paths of one kind, rings with a chord of the other."""
    rng = np.random.default_rng(0)
    graphs, classes = [], np.arange(40) // 2 % 2
    for kind in classes:
        n = int(rng.integers(6, 9))
        edges = [[k, k + 1] for k in range(n - 1)] + ([[0, n - 1], [0, n // 2]] if kind else [])
        graphs.append(swwl_package.Graph(rng.normal(size=(n, 2)) + 2 * kind, edges))
    return graphs, classes


@pytest.fixture
def folder(tmp_path, monkeypatch):
    import matplotlib

    matplotlib.use("agg")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in NAMES if blocks(name, "python")])
def test_python_blocks(name, folder, monkeypatch):
    from swwl import datasets

    if "fetch_tu" in "".join(blocks(name, "python")):
        pytest.importorskip("ot", reason="POT is not installed")
        pytest.importorskip("grakel", reason="GraKeL is not installed")
        monkeypatch.setattr(datasets, "fetch_tu", two_classes)

    datasets.write_dataset("blade", 16, folder / "d", n_nodes=200, random_state=0)
    space = {"np": np, "made": made, "fitted": fitted, "two_targets": two_targets}
    exec(BEFORE.get(name, ""), space)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CaseWarning)  # models of so few rows are unsure of many
        for code in blocks(name, "python"):
            exec(compile(smaller(code), name, "exec"), space)


def commands(name):
    for block in blocks(name, "console"):
        lines = block.replace("\\\n", " ").splitlines()
        prompted = any(line.startswith("$ ") for line in lines)
        for line in lines:
            if line.startswith("$ ") or not prompted:
                words = shlex.split(line.removeprefix("$ "), comments=True)
                if words:
                    yield words


def small(words):
    """Cut sizes of a command, so that it takes a second or two."""
    for option, value in (
        ("-n", "10" if words[0] == "select" else "16"),
        ("--nodes", "500" if {"airfoil", "capacitor", "channel"} & set(words) else "220"),
    ):
        if option in words:
            words[words.index(option) + 1] = value
    if words[0] == "fit" and not {"--kernel", "--target-field"} & set(words):
        words += ["--kernel", "swwl", *SMALL, "--no-calibrate"]
    return [re.sub(r"meshes/\d+", "meshes/00001", word) for word in words]


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in NAMES if blocks(name, "console")])
def test_console_blocks(name, folder):
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8") if (ROOT / "Makefile").exists() else None
    known = set(re.findall(r"^  (\w+)  ", swwl("--help").output, flags=re.M))
    for words in commands(name):
        program, rest = words[0], words[1:]
        if program == "make" and makefile:
            assert all(f"\n{target}:" in makefile for target in rest if "=" not in target), words
        elif program == "swwl":
            assert rest[0] in known or rest[0] in ("reproduce", "--help"), words
            if rest[0] in known:
                explained = swwl(rest[0], "--help").output
                assert all(word in explained for word in rest if word.startswith("--")), words
            runs = ("fit", "predict", "curve", "report", "info", "check", "select")
            if "--target-field" in rest:
                continue  # it takes long, and other tests do it
            inputs = [*rest[1:2], *(word for word in rest[2:3] if word.endswith((".csv", ".swwl")))]
            if rest[0] == "make" or (rest[0] in runs and all(Path(path).exists() for path in inputs)):
                swwl(*small(rest))
        else:
            others = {"git", "cd", "curl", "pip", "make", ".venv/bin/python", "python", "towncrier", "echo"}
            assert program in others, words


@pytest.mark.parametrize("name", NAMES)
def test_links_between_files(name):
    """Links from README and pages to files of the repository; the site's own are checked when it is built."""
    text = (ROOT / name).read_text(encoding="utf-8")
    if not (ROOT / "CONTRIBUTING.md").exists():
        pytest.skip("some pages stand in a clone of swwl alone")
    for target in re.findall(r"\]\(([^)\s#]+)", text):
        if "://" not in target and "gallery/" not in target:
            assert ((ROOT / name).parent / target).exists(), f"{name}: {target}"
