# Everything that a user or a check runs. `make help` lists it.
#
# A target sets itself up; what is built is built again only when its sources changed.

PYTHON ?= python3.11
CARGO ?= cargo
DATA ?=
export PYTHON
export PATH := $(PATH):$(or $(CARGO_HOME),$(HOME)/.cargo)/bin

VENV_PYTHON := .venv/bin/python
COMMAND := python/cenote.data/scripts/cenote
CRATES := cenote-region cenote-pool cenote-arrow cenote-load cenote cenote-panel cenote-cli

RUST := Cargo.toml Cargo.lock $(shell find crates/*/src crates/*/Cargo.toml -type f)
BINDINGS := $(shell find python -type f -not -path 'python/cenote.data/*' \
	-not -path 'python/tests/*' -not -path '*/.*' -not -name '*.pyc' -not -name '*.so')
PANEL := $(wildcard ../shared/data/sp500_daily)

.DEFAULT_GOAL := help
.PHONY: help demo test test-rust test-python venv cli wheel man clean
.DELETE_ON_ERROR:

help:
	@echo "make demo            the main job on real prices, the 101 alphas; writes demo/report.html"
	@echo "make demo DATA=path  the same on your own daily bars (a folder or file of CSV,"
	@echo "                     Parquet or zip)"
	@echo "make test            all tests (test-rust, test-python: one half)"
	@echo "make venv            .venv with the packages, 'import cenote' and .venv/bin/cenote"
	@echo "make cli             the command alone: $(COMMAND)"
	@echo "make wheel           dist/cenote-*.whl"
	@echo "make man             dist/man/man1: the manual pages"
	@echo "make clean           removes .venv, dist, target and what the demo wrote"

demo: .venv/.cenote $(if $(DATA)$(PANEL),,.venv/.prices)
	$(VENV_PYTHON) demo/run.py $(if $(DATA),--data '$(DATA)')

test: test-rust test-python

test-rust: .venv/.packages
	$(CARGO) test $(addprefix -p ,$(CRATES))
	$(CARGO) test -p cenote-torture --features steps -- --test-threads 1

test-python: .venv/.cenote
	$(VENV_PYTHON) -m pytest python/tests demo/tests

venv: .venv/.cenote
cli: $(COMMAND)
wheel: dist/.wheel
man: $(COMMAND)
	$(COMMAND) man dist/man/man1

.venv/.packages: scripts/setup $(wildcard requirements/*.txt)
	scripts/setup venv
	@touch $@

.venv/.prices: requirements/prices.txt .venv/.packages
	scripts/setup prices
	@touch $@

.venv/.cenote: dist/.wheel .venv/.packages
	scripts/setup install
	@touch $@

# What is built is as old as the beginning of its build: a source that changes meanwhile
# is newer.
$(COMMAND): $(RUST)
	@mkdir -p dist && touch dist/.command.begun
	scripts/setup cli
	@touch -r dist/.command.begun $@

dist/.wheel: $(COMMAND) $(BINDINGS) .venv/.packages
	@mkdir -p dist && touch dist/.wheel.begun
	scripts/setup wheel
	@touch -r dist/.wheel.begun $@

clean:
	rm -rf .venv dist python/cenote.data demo/data demo/report.html
	$(CARGO) clean
