# What a person types; every target installs what it needs. `make` alone lists them.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
RUNTIME := $(VENV)/.runtime
DEV := $(VENV)/.dev
QUIX := $(VENV)/quix/.installed
MUTANTS := $(VENV)/mutants/.installed
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet
BY_FILE := -p no:schemathesis --dist loadfile --no-loadscope-reorder --durations 25
# Much of the tests waits: a third worker uses that, where there is memory for its lab and its Spark.
PROCESSES ?= $(shell awk '/MemTotal/ { print ($$2 > 7000000 ? 3 : 2) }' /proc/meminfo 2>/dev/null || echo 2)
TESTS := tests/unit tests/processes tests/contract tests/spark tests/integration tests/chart
ARGS ?=
# A sixth of `make unit` was waiting for the disk: what its tests write, some of it to be run, is in memory, where
# there is room.
IN_MEMORY := $(shell grep -qs ' /dev/shm .*noexec' /proc/mounts || df -Pk /dev/shm 2>/dev/null | \
	awk '$$NF == "/dev/shm" && $$4 > 1000000 { print "PYTEST_DEBUG_TEMPROOT=/dev/shm" }')
UNIT := $(BY_FILE) -o tmp_path_retention_policy=failed

# What tests are rewritten to, and every module of every process that they start, is compiled once.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help setup demo test unit mutants bench chaos lint fmt docs dashboards migration lock clean

help:
	@sed -n 's/^\([a-z]*\):.*## /make \1	/p' $(MAKEFILE_LIST) | expand -t 14

setup: $(RUNTIME) ## virtual environment, jars and Spark's prepared classes; quick when nothing changed
	@$(BIN)/python -m jars
	@$(BIN)/python -m streaming.warm_up 2>/dev/null

demo: setup ## a real Kafka that fails, watched by the whole service (ARGS="--once" ends by itself)
	@$(BIN)/deadwatch demo $(ARGS)

test: setup $(DEV) ## the gate: every capability on the real thing; what fails runs once more, alone
	@sh tests/install_packages.sh
	@nice -n 19 sh tests/install_tools.sh >/dev/null 2>&1 & # the chart's tests come late and wait for it
	@$(BIN)/python -m tests.gate $(BY_FILE) -n $(PROCESSES) -m "not chaos" $(wildcard $(TESTS)) $(ARGS)

unit: $(DEV) ## the tests without JVM, network and processes, in seconds
	@$(IN_MEMORY) $(BIN)/python -m pytest $(UNIT) -n $(PROCESSES) -m "not chaos" tests/unit $(ARGS)

mutants: $(DEV) $(MUTANTS) ## how many mutants of the pure decisions their tests kill (ARGS=deadwatch/orders/guards.py)
	@$(VENV)/mutants/bin/python -m tests.mutants $(ARGS)

bench: setup $(DEV) $(QUIX) ## peers side by side, as ratios (ARGS="clients collector streaming")
	@$(BIN)/python -m benchmarks $(ARGS)

chaos: setup $(DEV) ## what kills, fills, stalls, waits or draws at random, at full size; and what was lost (nothing)
	@DEADWATCH_CHAOS=$${DEADWATCH_CHAOS:-50} DEADWATCH_CHAOS_MINUTES=$${DEADWATCH_CHAOS_MINUTES:-60} \
		DEADWATCH_CHAOS_SEEDS=$${DEADWATCH_CHAOS_SEEDS:-84} \
		$(BIN)/python -m pytest -m chaos --timeout 0 tests $(ARGS)

lint: $(DEV) ## ruff, mypy --strict, import-linter (no arrow upwards), floors without a circle
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports --verbose
	@$(BIN)/python docs/floors.py docs/architecture.md --check

fmt: $(DEV) ## format the code
	@$(BIN)/ruff check --fix --select I .
	@$(BIN)/ruff format .

docs: $(DEV) ## write the generated parts of the documentation and of the chart anew
	@$(BIN)/python -m cli.generate
	@$(BIN)/python -m deadwatch.deadletter.dialects docs
	@$(BIN)/python docs/floors.py docs/architecture.md

dashboards: $(RUNTIME) ## generate dashboards, alert rules, the table of signals and their missing runbooks anew
	@$(BIN)/python -m dashboards generate

migration: $(DEV) ## write the step from the store's newest version to its tables of today (NAME=orders_have_an_owner)
	@$(BIN)/python -m deadwatch.store.migrations $(NAME)
	@$(BIN)/ruff format --quiet deadwatch/store/migrations/versions
	@$(BIN)/ruff check --quiet --fix deadwatch/store/migrations/versions
	@sh tests/install_packages.sh
	@$(BIN)/python -m tests.landed_stores # the new version's own, for the upgrades to come

lock: $(DEV) ## resolve the dependencies anew, with hashes
	@$(BIN)/uv pip compile $(COMPILE) --extra build -o requirements.lock pyproject.toml
	@$(BIN)/uv pip compile $(COMPILE) --extra build --extra dev -c requirements.lock -o requirements-dev.lock pyproject.toml
	@$(BIN)/uv pip compile $(COMPILE) -o benchmarks/quix.lock benchmarks/quix.in
	@$(BIN)/uv pip compile $(COMPILE) -o tests/mutants.lock tests/mutants.in
	@$(BIN)/uv pip compile $(COMPILE) -o docker/sbom.lock docker/sbom.in

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

$(MUTANTS): tests/mutants.lock | $(BIN)/python
	@echo "installing the mutation tester in an environment of its own"
	@$(PYTHON) -m venv $(VENV)/mutants
	@$(VENV)/mutants/bin/python -m pip --disable-pip-version-check --quiet install --require-hashes -r tests/mutants.lock
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
