# `make run` does the main job and `make test` the tests, on a machine with python3 (3.11 or newer) with venv, make and git.
# Both make their own virtual environment in .venv; nothing else on the machine is touched.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
SCENARIO ?= examples/llama3-405b.yaml

FUZZ_SECONDS ?= 60

.PHONY: run test test-slow benchmark fuzz notebooks verify-fabric verify-fabric-large verify-prometheus verify-testbed verify-web docs reference lint format types imports lock clean help

help: ## this list
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*##/\t/' | sort

run: $(VENV)/run.stamp ## plan a fleet: SCENARIO=examples/deepseek-v3.yaml for another
	@$(BIN)/argosy plan $(SCENARIO) --html plan.html

test: $(VENV)/dev.stamp ## the test suite (pip alone)
	@$(BIN)/python -m pytest -n 2 -m "not slow and not browser"

test-slow: $(VENV)/dev.stamp ## the slow checks
	@$(BIN)/python -m pytest -m "slow and not browser"

benchmark: $(VENV)/dev.stamp ## speeds, as ratios against a baseline in the same run
	@$(BIN)/python -m pytest benchmarks -n 0 --benchmark-only

fuzz: $(VENV)/dev.stamp ## fuzz the readers of argosy diagnose with atheris for FUZZ_SECONDS (skipped where there is no wheel of it)
	@$(BIN)/python tools/fuzz_readers --seconds $(FUZZ_SECONDS)

notebooks: $(VENV)/notebooks.stamp ## run the notebooks of docs/notebooks; WRITE=--write keeps their outputs
	@$(BIN)/python tools/run_notebooks $(WRITE)

verify-fabric: $(VENV)/run.stamp ## fabrics of 1,024 hosts checked by opensm, ibdmchk and Slurm (Debian; installs what is missing as root)
	@$(BIN)/python tools/verify_fabric

verify-fabric-large: $(VENV)/run.stamp ## the same with 4,096 and 16,384 hosts: minutes, and gigabytes
	@$(BIN)/python tools/verify_fabric --large

verify-testbed: $(VENV)/testbed.stamp ## real fleets on network namespaces against the simulators, in short (Linux, root; installs iproute2, haproxy where missing)
	@$(BIN)/python tools/verify_testbed

verify-prometheus: $(VENV)/run.stamp ## a real Prometheus server read through its HTTP API (Debian; installs it as root where missing)
	@$(BIN)/python tools/verify_prometheus

verify-web: $(VENV)/dev.stamp $(VENV)/browser.stamp ## the page in Debian's chromium, accessibility included (installs it as root where missing)
	@$(BIN)/python tools/verify_web

docs: $(VENV)/run.stamp $(VENV)/docs.stamp ## the documentation as a site in ./site, offline
	@$(BIN)/python tools/build_docs

reference: $(VENV)/run.stamp ## write the pages that come from code again
	@$(BIN)/python tools/reference

lint: $(VENV)/dev.stamp ## ruff, formatting, types and the import contract
	@$(BIN)/ruff check . && $(BIN)/ruff format --check . && $(BIN)/mypy && $(BIN)/lint-imports

format: $(VENV)/dev.stamp ## let ruff mend what it can
	@$(BIN)/ruff check --fix . ; $(BIN)/ruff format .

lock: $(VENV)/dev.stamp ## pin the dependencies again, for every supported Python
	@$(BIN)/python -m pip install -q uv
	@$(BIN)/uv pip compile -q --universal --python-version 3.11 --upgrade --no-header --no-annotate pyproject.toml -o requirements/run.txt
	@$(BIN)/uv pip compile -q --universal --python-version 3.11 --upgrade --no-header --no-annotate --extra dev pyproject.toml -o requirements/dev.txt
	@$(BIN)/uv pip compile -q --universal --python-version 3.11 --upgrade --no-header --no-annotate --extra notebooks pyproject.toml -o requirements/notebooks.txt
	@$(BIN)/uv pip compile -q --universal --python-version 3.11 --upgrade --no-header --no-annotate --extra browser pyproject.toml -o requirements/browser.txt
	@$(BIN)/uv pip compile -q --universal --python-version 3.11 --upgrade --no-header --no-annotate --extra docs pyproject.toml -o requirements/docs.txt
# torch's wheel of PyPI asks for CUDA, its CPU wheel does not: what it asks for is left to it
	@$(BIN)/uv pip compile -q --universal --python-version 3.11 --upgrade --no-header --no-annotate --extra testbed pyproject.toml | grep -vE '^(nvidia-|cuda-|triton)' > requirements/testbed.txt

clean: ## remove the virtual environment and caches
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .hypothesis .benchmarks

$(VENV)/bin/python:
	@sh tools/check-machine $(PYTHON)
	@$(PYTHON) -m venv $(VENV) || { rm -rf $(VENV); echo "argosy: python3 cannot make a virtual environment: install it (Debian, Ubuntu: apt-get install python3-venv)" >&2; exit 1; }

$(VENV)/run.stamp: $(VENV)/bin/python requirements/run.txt pyproject.toml
	@echo "argosy: installing into $(VENV) (once)" >&2
	@$(BIN)/python -m pip install -q --disable-pip-version-check -r requirements/run.txt
	@$(BIN)/python -m pip install -q --disable-pip-version-check --no-deps -e .
	@touch $@

$(VENV)/dev.stamp: $(VENV)/run.stamp requirements/dev.txt
	@$(BIN)/python -m pip install -q --disable-pip-version-check -r requirements/dev.txt
	@touch $@

$(VENV)/browser.stamp: $(VENV)/run.stamp requirements/browser.txt
	@$(BIN)/python -m pip install -q --disable-pip-version-check -r requirements/browser.txt
	@touch $@

$(VENV)/testbed.stamp: $(VENV)/run.stamp requirements/testbed.txt
	@$(BIN)/python -m pip install -q --disable-pip-version-check -r requirements/testbed.txt
	@touch $@

$(VENV)/docs.stamp: $(VENV)/run.stamp requirements/docs.txt
	@$(BIN)/python -m pip install -q --disable-pip-version-check -r requirements/docs.txt
	@touch $@

$(VENV)/notebooks.stamp: $(VENV)/run.stamp requirements/notebooks.txt
	@$(BIN)/python -m pip install -q --disable-pip-version-check -r requirements/notebooks.txt
	@touch $@
