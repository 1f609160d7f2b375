# What a person types; every target installs what it needs. `make` alone lists them.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
RUNTIME := $(VENV)/.runtime
DEV := $(VENV)/.dev
QUIX := $(VENV)/quix/.installed
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet
PYTEST = $(BIN)/python -m pytest -n $(PROCESSES) --dist loadfile --no-loadscope-reorder
PROCESSES ?= 2
TESTS := tests/unit tests/contract tests/spark tests/integration tests/chart tests/chaos
ARGS ?=

.DEFAULT_GOAL := help
.PHONY: help setup demo test unit bench chaos lint fmt docs dashboards migration lock clean

help:
	@sed -n 's/^\([a-z]*\):.*## /make \1	/p' $(MAKEFILE_LIST) | expand -t 14

setup: $(RUNTIME) ## virtual environment and jars; quick when nothing changed
	@$(BIN)/python -m jars

demo: setup ## a real Kafka that fails, watched by the whole service (ARGS="--once" ends by itself)
	@$(BIN)/deadwatch demo $(ARGS)

test: setup $(DEV) ## every test
	@sh tests/install_packages.sh
	@nice sh tests/install_tools.sh >/dev/null 2>&1 & # the chart's tests come late and wait for it
	@$(PYTEST) $(wildcard $(TESTS)) $(ARGS)

unit: $(DEV) ## the tests without JVM and network, in seconds
	@$(PYTEST) tests/unit $(ARGS)

bench: setup $(DEV) $(QUIX) ## peers side by side, as ratios (ARGS="clients collector streaming")
	@$(BIN)/python -m benchmarks $(ARGS)

chaos: setup $(DEV) ## the fault tests at full size: kills, crashes, rotations, and what was lost (nothing)
	@DEADWATCH_CHAOS=$${DEADWATCH_CHAOS:-50} DEADWATCH_CHAOS_MINUTES=$${DEADWATCH_CHAOS_MINUTES:-60} \
		$(BIN)/python -m pytest -m chaos tests $(ARGS)

lint: $(DEV) ## ruff, mypy --strict, import-linter
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports --verbose

fmt: $(DEV) ## format the code
	@$(BIN)/ruff check --fix --select I .
	@$(BIN)/ruff format .

docs: $(RUNTIME) ## write the generated parts of the documentation and of the chart anew
	@$(BIN)/python -m deadwatch.settings_page docs/configuration.md
	@$(BIN)/python -m deadwatch.chart_schema helm/deadwatch/values.schema.json
	@$(BIN)/python -m deadwatch.chart_files helm/deadwatch
	@$(BIN)/python -m api.openapi docs/openapi.json

dashboards: $(RUNTIME) ## generate dashboards and alert rules anew, from the metric catalogue
	@$(BIN)/python -m dashboards generate

migration: $(DEV) ## write the step from the store's newest version to its tables of today (NAME=orders_have_an_owner)
	@$(BIN)/python -m streaming.store.migrations $(NAME)
	@$(BIN)/ruff format --quiet streaming/store/migrations/versions
	@$(BIN)/ruff check --quiet --fix streaming/store/migrations/versions

lock: $(DEV) ## resolve the dependencies anew, with hashes
	@$(BIN)/uv pip compile $(COMPILE) --extra build -o requirements.lock pyproject.toml
	@$(BIN)/uv pip compile $(COMPILE) --extra build --extra dev -c requirements.lock -o requirements-dev.lock pyproject.toml
	@$(BIN)/uv pip compile $(COMPILE) -o benchmarks/quix.lock benchmarks/quix.in

COMPILE := --quiet --upgrade --universal --python-version 3.11 --generate-hashes --no-header --no-emit-index-url --no-emit-find-links

clean: ## remove the virtual environment and the tools' caches (the jars stay)
	@rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache *.egg-info

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || \
		{ echo "Python 3.11 or newer is needed: apt-get install python3 (or name one: make PYTHON=python3.12)" >&2; exit 1; }
	@$(PYTHON) -m venv $(VENV) >/dev/null || \
		{ rm -rf $(VENV); echo "Python's venv module is needed: apt-get install python3-venv" >&2; exit 1; }

$(RUNTIME): requirements.lock pyproject.toml | $(BIN)/python
	@echo "installing Python packages"
	@$(PIP) install --require-hashes -r requirements.lock
	@$(PIP) install --no-deps --no-build-isolation --editable .
	@touch $@

$(QUIX): benchmarks/quix.lock | $(BIN)/python
	@echo "installing Quix Streams, a peer, in an environment of its own"
	@$(PYTHON) -m venv $(VENV)/quix
	@$(VENV)/quix/bin/python -m pip --disable-pip-version-check --quiet install --require-hashes -r benchmarks/quix.lock
	@touch $@

$(DEV): requirements-dev.lock $(RUNTIME)
	@echo "installing Python packages for tests"
	@$(PIP) install --require-hashes -r requirements-dev.lock
	@touch $@
