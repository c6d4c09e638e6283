# `make demo` and `make test` set up their own environment; nothing but Python 3.11 is needed.
PYTHON ?= python3
# Installed before the extras: what sentence-transformers would choose by itself is several times larger.
TORCH ?= torch==2.13.0
BIN := .venv/bin
export MLFLOW_DISABLE_TELEMETRY = true

.DEFAULT_GOAL := help
.PHONY: help setup dev demo test quick lint types golden bench clean

help: ## show this list
	@grep -E '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## /\t/' | expand -t 12

setup: .venv/.core ## environment with the core dependencies
dev: .venv/.dev ## the same, with embeddings and developer tools

.venv/.core: pyproject.toml
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet -e .
	touch $@

.venv/.dev: .venv/.core
	$(BIN)/python -m pip install --quiet '$(TORCH)'
	$(BIN)/python -m pip install --quiet -e '.[embed,mcp,dev]'
	touch $@

demo: setup ## optimise a GEMM end to end: no GPU, no API key
	$(BIN)/argus demo

test: dev ## every test that needs neither a GPU nor a language model
	$(BIN)/python -m pytest -n 2 --dist worksteal -m "not gpu and not llm" $(ARGS)

quick: dev ## the tests that take no more than a minute together
	$(BIN)/python -m pytest -n 2 --dist worksteal -m "not slow and not gpu and not llm" $(ARGS)

lint: dev types ## formatting, lint, import layers, types, cards
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/lint-imports
	$(BIN)/argus kb lint

types: dev
	$(BIN)/pyright

golden: dev ## rewrite the snapshots; review the diff
	$(BIN)/python -m pytest -m "not slow" --inline-snapshot=fix,create

bench: dev ## checker, compile and end-to-end times with medians
	$(BIN)/argus bench all

clean: ## remove the environment and caches
	rm -rf .venv .pytest_cache .ruff_cache .hypothesis build dist
