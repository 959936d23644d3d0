# `make run` starts everything; `make help` says what else there is.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
ARGS ?=
# Most tests wait for other processes, so two at once take about half the time.
JOBS ?= 2
# The rules and the store are held to 95 % of lines and branches when the whole suite runs.
COVERED := --cov=tasks_app.domain --cov=tasks_app.store --cov-branch --cov-fail-under=95 --cov-report=term

.DEFAULT_GOAL := help
.PHONY: help setup run test check demo bench chaos soak

help: ## what there is
	@grep -E '^[a-z]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-8s %s\n", $$1, $$2}'

setup: $(VENV)/.installed-tests ## install everything, the tools for tests and checks included

run: $(VENV)/.installed ## start everything on http://127.0.0.1:8000/ (ARGS="--port 9000" for another port)
	@$(BIN)/python manage.py up $(ARGS)

demo: $(VENV)/.installed ## send believable traffic to what `make run` has started
	@$(BIN)/python manage.py demo $(ARGS)

test: setup ## all tests on a real server, store and API on fakeredis as well (ARGS="tests/unit -k retry" for some)
	$(BIN)/python -m pytest -n $(JOBS) $(or $(ARGS),$(COVERED))
	$(if $(ARGS),,$(BIN)/python -m pytest -n $(JOBS) --redis=fake tests/store tests/api)

check: setup ## lint, format, types, layers, documents, Django's checks
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python -m tests.architecture.documents --check
	$(BIN)/python manage.py check --fail-level WARNING
	$(BIN)/python manage.py makemigrations --check --dry-run

chaos: setup ## simulated crashes and lost messages for SECONDS (600), then a report (ARGS="--seed 7" to see one)
	$(BIN)/python -m tests.chaos --seconds $(or $(SECONDS),600) $(ARGS)

bench: setup ## the benchmarks, as JSON lines
	$(BIN)/python -m tests.benchmarks $(ARGS)

soak: setup ## a whole installation under mixed load and random kills for SECONDS (1800), then its accounts
	$(BIN)/python -m tests.soak --seconds $(or $(SECONDS),1800) $(ARGS)

$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit("dtq needs Python 3.11 or newer") if sys.version_info < (3, 11) else None'
	@$(PYTHON) -m venv $(VENV)

$(VENV)/.installed: requirements.txt | $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements.txt
	@touch $@

$(VENV)/.installed-tests: requirements.txt tests/requirements.txt | $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -r tests/requirements.txt
	@touch $@ $(VENV)/.installed
