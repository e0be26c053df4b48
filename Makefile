# Two commands to know: `make demo` and `make test`. Both set everything up by themselves in .venv.
PYTHON ?= python3
BIN := .venv/bin
WORKERS ?= 2

.PHONY: help demo test check bench clean setup
help:            ## this list
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*##/\t/' | expand -t 12

demo: .venv/.user ## protect a generated population of 100,000 people and show the result
	@$(BIN)/pramana demo

test: .venv/.developer ## run every test
	@$(BIN)/python -m pytest -q -n $(WORKERS)

check: .venv/.developer ## ruff, mypy strict, import-linter, doctests
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python -m pytest -q --doctest-modules src

bench: .venv/.developer ## measure against the bare engine and against peers
	$(BIN)/python -m benchmarks

setup: .venv/.developer ## only set up the virtual environment

clean:           ## remove what the other commands made
	rm -rf .venv build dist demo-data demo-release .pytest_cache .mypy_cache .ruff_cache .hypothesis

.venv/bin/python:
	$(PYTHON) -m venv .venv

.venv/.user: .venv/bin/python pyproject.toml
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable .
	@touch $@

.venv/.developer: .venv/bin/python pyproject.toml
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	@touch $@ .venv/.user
