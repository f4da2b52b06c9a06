# Needs Python 3.11 or newer with pip, and make. Everything else goes into .venv.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
RUN := $(BIN)/python
PIP := $(BIN)/python -m pip --disable-pip-version-check install --quiet

# Workers find the bytecode that the first process wrote.
unexport PYTHONDONTWRITEBYTECODE
.PHONY: demo cluster-demo workbench test suite kernels coverage thorough lint style types docs bench dist clean help
# Each worker starts with its own half of the tests, and takes over from the other what is left at the end.
SUITE := -n 2 --dist worksteal src tests

help:  ## list what can be made
	@grep -E '^[a-z-]+:.*##' Makefile | sed 's/:.*## /\t/'

demo: $(VENV)/.runs  ## make a data set, publish it, verify it
	@$(RUN) -m sequester demo --out out/demo
	@echo "        (sequester is $(BIN)/sequester here)"

cluster-demo: $(VENV)/.tests  ## release on a scheduler and two workers on this machine, and compare with the local release
	@$(RUN) scripts/cluster_demo.py --out out/cluster-demo

workbench: $(VENV)/.workbench  ## open the workbench in a browser, with the data of an invented hospital
	@mkdir -p out/workbench
	@test -e out/workbench/visits.csv || $(RUN) -m sequester datasets make hospital --persons 2000 --out out/workbench/visits.csv
	@$(RUN) -m sequester workbench out/workbench/visits.csv

# Types are checked beside the suite, whose workers do not always need both cores.
test: $(VENV)/.tests style  ## style, types, layers, doctests and the suite: what must pass before every change
	@$(MAKE) --no-print-directory --jobs=2 types suite

suite: $(VENV)/.tests
	@SEQUESTER_TEST_PROFILE=quick $(RUN) -m pytest $(SUITE)

coverage: $(VENV)/.tests  ## the suite, with the branches of promises, methods and verification that it runs
	@SEQUESTER_TEST_PROFILE=quick $(RUN) -m pytest --cov --cov-report=term:skip-covered $(SUITE)

thorough: $(VENV)/.tests lint kernels  ## everything: many more examples, kill tests, large real data, kernels, coverage
	@SEQUESTER_TEST_PROFILE=thorough $(RUN) -m pytest --cov --cov-report=term:skip-covered $(SUITE)

lint: style types

style: $(VENV)/.tests
	@$(RUN) -m ruff check
	@$(RUN) -m ruff format --check
	@$(BIN)/lint-imports

types: $(VENV)/.tests
	@$(RUN) -m mypy

# Only files that have such tests are collected, which takes a sixth of the time.
KERNELS = -q -n 2 --dist worksteal -m kernel $$(grep -rl --include='test_*.py' mark.kernel tests)
kernels: $(VENV)/.tests  ## the tests of kernels without the JIT, then with bounds checks
	@NUMBA_DISABLE_JIT=1 $(RUN) -m pytest $(KERNELS)
	@NUMBA_BOUNDSCHECK=1 NUMBA_CACHE_DIR="$(CURDIR)/.numba-boundscheck" $(RUN) -m pytest $(KERNELS)

docs: $(VENV)/.tests  ## build the pages into site/
	@$(BIN)/zensical build --strict

bench: $(VENV)/.tests  ## every benchmark, and docs/performance.md made of them
	@$(RUN) benchmarks/run.py

dist: $(VENV)/.tests  ## build wheel and source, install the wheel elsewhere, run demo and doctests from there
	@rm -rf dist
	@$(RUN) -m build --outdir dist
	@folder=$$(mktemp -d) && wheel=$$(ls $(CURDIR)/dist/*.whl) && trap 'rm -rf "$$folder"' EXIT && cd "$$folder" \
	  && $(CURDIR)/$(RUN) -m venv venv \
	  && venv/bin/python -m pip --disable-pip-version-check install --quiet "$$wheel[geo,workbench,dask]" pandas pyarrow pytest \
	  && venv/bin/sequester demo --out demo && venv/bin/sequester verify demo/release \
	  && venv/bin/python -m pytest --quiet -p no:cacheprovider --doctest-modules --pyargs sequester

clean:  ## remove everything that was made here
	rm -rf $(VENV) out site dist .cache .numba-boundscheck .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis .coverage

$(VENV)/bin/python:
	@echo "making a virtual environment in $(VENV)"
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "sequester needs Python 3.11 or newer; name one with PYTHON=")'
	@$(PYTHON) -m venv $(VENV)

# The stamps keep later runs off the network.
$(VENV)/.runs: pyproject.toml | $(VENV)/bin/python
	@echo "installing sequester and what it needs"
	@$(PIP) --editable .
	@touch $@

$(VENV)/.workbench: pyproject.toml | $(VENV)/bin/python
	@echo "installing sequester and what its workbench needs"
	@$(PIP) --editable '.[workbench]'
	@touch $@

$(VENV)/.tests: pyproject.toml | $(VENV)/bin/python
	@echo "installing sequester and what its tests need"
	@$(PIP) --editable '.[test]'
	@touch $@
