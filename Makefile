# Every target works on a machine that has Python >= 3.11 and nothing else:
# it makes .venv, installs the project into it, and runs.
PYTHON ?= python3
BIN := .venv/bin

.PHONY: demo check test lint docs package bench fuzz paper clean

demo: .venv/installed-demo
	$(BIN)/swwl demo
	@echo 'Here the command swwl is $(BIN)/swwl; ". $(BIN)/activate" puts it on the path.'

# Lint, types and the quick tests: some two minutes on two cores, for the inner loop.
check: lint
	$(BIN)/python -m pytest -n 2 -q -m "not slow" src tests

test: lint
	$(BIN)/python -m pytest -n 2 --dist worksteal

# Linters look at the text files that git tracks (where there is no git, at all that are here), so that it does not
# matter what a demo, a build or an editor has left in the folder.
tracked = { git grep -lzI '' -- $(1) 2>/dev/null || printf '.\0'; } | xargs -0

lint: .venv/installed
	$(call tracked,'*.py' '*.pyi') $(BIN)/ruff check
	$(call tracked,'*.py' '*.pyi' '*.md') $(BIN)/ruff format --check
	$(call tracked,.) $(BIN)/codespell
	$(BIN)/lint-imports --no-cache >/dev/null || $(BIN)/lint-imports --no-cache
	$(BIN)/mypy

# The site, in docs/_build/html: warnings are errors, and nothing is taken from the network.
docs: .venv/installed-docs
	$(BIN)/python -m sphinx -W --keep-going -q -b html docs docs/_build/html
	$(BIN)/python docs/check_links.py docs/_build/html

# Wheel and sdist in dist/, checked, and tested in environments of their own.
package:
	PYTHON=$(PYTHON) .ci/package dist

bench: .venv/installed-bench
	$(BIN)/python -m benchmarks

# Spoiled mesh and model files, for so many minutes; those that a reader stumbles over are kept in fuzz-failures/.
fuzz: .venv/installed
	$(BIN)/python -m tests.fuzz --minutes $(or $(MINUTES),10)

# `swwl reproduce` itself is there with .venv/installed; this adds the kernels and MMG that some experiments need.
paper: .venv/installed
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable './paper[baselines,mmg]'

.venv/made:
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "swwl needs Python 3.11 or newer: make PYTHON=python3.12 ...")'
	$(PYTHON) -m venv .venv
	touch $@

# What users have, without the tools of developers: half the download.
.venv/installed-demo: pyproject.toml | .venv/made
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[serve]'
	touch $@

.venv/installed: pyproject.toml paper/pyproject.toml | .venv/made
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]' --editable ./paper
	touch .venv/installed-demo $@

.venv/installed-docs: .venv/installed
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[docs]'
	touch $@

# torch and PyTorch Geometric: the peers that the benchmarks measure beside us, never needed by swwl itself.
.venv/installed-bench: .venv/installed
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[bench]'
	touch $@

clean:
	rm -rf .venv .pytest_cache .mypy_cache .ruff_cache .hypothesis dist docs/_build docs/gallery docs/reference/generated
