"""The project's own files agree with each other: versions, bounds of dependencies, extras, the changelog."""

import json
import re
import tomllib
from pathlib import Path

import pytest

import swwl

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def project():
    path = ROOT / "pyproject.toml"
    if not path.exists():
        pytest.skip("pyproject.toml stands in a clone of swwl alone")
    return tomllib.loads(path.read_text(encoding="utf-8"))["project"]


def text_of(name):
    path = ROOT / name
    if not path.exists():
        pytest.skip(f"{name} stands in a clone of swwl alone")
    return path.read_text(encoding="utf-8")


def parts(version):
    return [*map(int, version.split(".")), 0, 0][:3]


def test_ci_tries_the_oldest_dependencies_that_are_allowed(project):
    bounds = dict(requirement.split(">=") for requirement in project["dependencies"])
    lines = [line for line in text_of(".ci/oldest.txt").splitlines() if not line.startswith("#")]
    pins = dict(line.split("==") for line in lines)
    assert {name: parts(version) for name, version in bounds.items()} == {
        name: parts(version) for name, version in pins.items() if name in bounds
    }


def test_only_two_extras_bring_torch(project):
    extras = project["optional-dependencies"]

    def brings(name, seen=()):
        for requirement in extras[name]:
            inner = re.fullmatch(r"swwl\[(.*)\]", requirement)
            if inner:
                if any(brings(other, (*seen, name)) for other in inner[1].split(",") if other not in seen):
                    return True
            elif re.match(r"torch", requirement):
                return True
        return False

    assert {name for name in extras if brings(name)} == {"rpw", "bench"}


def test_every_extra_that_a_message_or_a_page_names_exists(project):
    texts = [path.read_text(encoding="utf-8") for path in (ROOT / "src").rglob("*.py")]
    texts += [path.read_text(encoding="utf-8") for path in [ROOT / "README.md", *ROOT.glob("docs/**/*.md")]]
    named = {extra for text in texts for group in re.findall(r"swwl\[([\w,]+)\]", text) for extra in group.split(",")}
    assert named <= set(project["optional-dependencies"])


def test_ci_tries_every_python_that_is_promised(project):
    promised = re.findall(r"Python :: (3\.\d+)", " ".join(project["classifiers"]))
    tried = re.search(r"python: \[(.*)\]", text_of(".github/workflows/ci.yml"))[1]
    assert set(promised) <= set(re.findall(r"3\.\d+", tried))
    assert project["requires-python"] == f">={min(promised, key=parts)}"


def test_the_changelog_and_the_citation_know_the_version():
    changelog, citation = text_of("CHANGELOG.md"), text_of("CITATION.cff")
    heads = re.findall(r"^## \[(.*?)\]", changelog, flags=re.M)
    released = [head for head in heads if head != "Unreleased"]
    assert re.search(r"^version: (.*)$", citation, flags=re.M)[1] == released[0]
    assert "dev" in swwl.__version__ or swwl.__version__ == released[0]
    assert "<!-- towncrier release notes start -->" in changelog


def test_workflows_take_actions_by_commit_and_may_do_nothing_by_default():
    for name in ("ci", "release", "scorecard", "site"):
        text = text_of(f".github/workflows/{name}.yml")
        assert "\npermissions: {}\n" in text
        for used in re.findall(r"uses: (?!\./)(.*)", text):  # "./" is a file of this repository at this commit
            assert re.fullmatch(r"[\w.-]+(/[\w.-]+)+@[0-9a-f]{40} # v\d+\.\d+\.\d+", used), used
        assert text.count("actions/checkout@") == text.count("persist-credentials: false")


def test_zenodo_is_told_what_the_citation_says(project):
    told, citation = json.loads(text_of(".zenodo.json")), text_of("CITATION.cff")
    assert f'\ntitle: "{told["title"]}"\n' in citation
    assert [creator["name"] for creator in told["creators"]] == [author["name"] for author in project["authors"]]
    assert all(f'name: "{creator["name"]}"' in citation for creator in told["creators"])
    assert told["license"] == project["license"].lower() and f"\nlicense: {project['license']}\n" in citation
    assert told["keywords"] == project["keywords"]
    assert [related["identifier"] for related in told["related_identifiers"]] == [project["urls"]["Paper"]]
    assert f'url: "{project["urls"]["Paper"]}"' in citation
    assert "version" not in told  # Zenodo takes that of the release


def test_the_conda_recipe_is_of_this_version_and_asks_for_the_same(project):
    recipe = text_of("recipe/recipe.yaml")
    context = dict(re.findall(r"^  (\w+): \"(.*)\"$", recipe, flags=re.M))
    released = re.search(r"^version: (.*)$", text_of("CITATION.cff"), flags=re.M)[1]
    assert context == {"version": released, "python_min": project["requires-python"].removeprefix(">=")}
    asked = dict(re.findall(r"^    - ([\w-]+) >=([\d.]+)(?: #.*)?$", recipe, flags=re.M))
    asked["matplotlib"] = asked.pop("matplotlib-base")
    assert asked == dict(requirement.split(">=") for requirement in project["dependencies"])
    assert re.findall(r"^      - (\w+) = ([\w.:]+)$", recipe, flags=re.M) == list(project["scripts"].items())
    assert f"summary: {project['description']}\n" in recipe and f"license: {project['license']}\n" in recipe


def test_the_paper_cites_what_its_bibliography_has_and_names_commands_that_exist():
    paper, bibliography = text_of("joss/paper.md"), text_of("joss/paper.bib")
    assert set(re.findall(r"@(\w+)", paper)) == set(re.findall(r"^@\w+\{(\w+),$", bibliography, flags=re.M))
    assert all((ROOT / "joss" / picture).is_file() for picture in re.findall(r"\]\((\S+\.png)\)", paper))
    assert all((ROOT / path).is_file() for path in re.findall(r"`(docs/\S+)`", paper))
    named = set(re.findall(r"`swwl reproduce ([\w-]+)", paper))
    assert named and {name for name in named if not (ROOT / "paper" / "results" / f"{name}.md").is_file()} == set()
