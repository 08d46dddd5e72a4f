# Needs Python 3.11 to 3.13 and make, nothing else; packages come from the index pip is set up with.

SHELL := /bin/sh
VENV := .venv
BIN := $(VENV)/bin
PYTHON_VERSIONS := 3.11 3.12 3.13

# How many workers that are, tests/conftest.py says.
PYTEST := -m pytest -n auto --dist loadgroup
PIP := -m pip --disable-pip-version-check --quiet

# Looked for only when an environment has to be made. `make setup PYTHON=...` takes another.
PYTHON = $(or $(shell tools/find-python),$(error install Python 3.11, 3.12 or 3.13))

# $(call install,FOLDER,PYTHON): an environment exactly as locked, then Alama itself, editable.
define install
echo "setting up $(1) with $$($(2) --version), about a minute"
$(2) -m venv $(1)
$(1)/bin/python $(PIP) install --require-hashes --requirement requirements/dev.txt
$(1)/bin/python $(PIP) install --no-deps --no-build-isolation --editable .
touch $@
endef

.DEFAULT_GOAL := help
.PHONY: help setup run guide quick quick-tests sdk test test-long coverage check size format clients airflow bench bench-serve bench-lending bench-explain bench-webhooks bench-shadow bench-monitoring bench-onboarding bench-leaks bench-sizing sbom model reliability mutate test-all lock clean bundle image-check walk
.SILENT:

help: ## Show this list
	awk 'BEGIN { FS = ":.*## " } /^[a-z-]+:.*## / { printf "  make %-16s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: $(VENV)/.installed ## Create .venv with everything locked in requirements/dev.txt

# Nothing happens while the lock and the project file stay as they are.
$(VENV)/.installed: requirements/dev.txt pyproject.toml
	$(call install,$(VENV),$(PYTHON))

run: setup ## Serve on http://127.0.0.1:8000, and print a key and a curl to try it with
	$(MAKE) --no-print-directory guide || echo "the guide was not built, see above; serving without a new one"
	$(BIN)/alama serve --try

guide: src/alama/guide/index.html ## Build the guide of docs/, which is served at /docs/guide

# From the pages, and from what they link to.
GUIDE_SOURCES := $(wildcard *.md sdk/*/README.md recipes/*.* recipes/*/*.* tools/guide/*.* tools/guide/static/* tools/guide/templates/*) $(shell find docs deploy -type f -not -path '*/collections/*')

# In half the time of the others: with the pip of .venv, and no bytecode but of what is used.
.venv-guide/.installed: requirements/guide.txt | $(VENV)/.installed
	echo "setting up $(@D), some seconds"
	$(BIN)/python -m venv --without-pip $(@D)
	$(BIN)/python $(PIP) --python $(@D)/bin/python install --no-compile --require-hashes --requirement $<
	touch $@

src/alama/guide/index.html: .venv-guide/.installed $(GUIDE_SOURCES)
	echo "building the guide, some seconds"
	.venv-guide/bin/python -m tools.guide

# The folders of tests that start nothing and train nothing, and those below them that do start servers.
QUICK := tests/property tests/unit/batch tests/unit/core tests/unit/lenders tests/unit/platform tests/unit/scoring \
	tests/unit/vault tests/unit/tools/test_size.py tests/unit/test_repository.py tests/unit/test_ways_out.py \
	tests/unit/app/test_openapi.py tests/unit/protection/test_audit_page.py tests/unit/protection/test_expected_rows.py
NOT_QUICK := tests/unit/platform/database tests/unit/platform/server

# Side by side: mypy has use for one core alone.
quick: setup ## The checks and the tests that need no server: 90 seconds
	$(MAKE) --no-print-directory --jobs=2 check quick-tests

quick-tests: setup
	HYPOTHESIS_PROFILE=quick $(BIN)/python $(PYTEST) -m "not long" $(QUICK) $(NOT_QUICK:%=--ignore=%)

test: setup .venv-deploy/.installed check ## The checks and all that proves the product: 8 minutes
	$(BIN)/python $(PYTEST) -m "not long"

CLIENTS := tests/clients
LONG_TOOLS := .venv-api/.installed .venv-deploy/.installed .venv-guide/.installed .venv-warehouse/.installed $(CLIENTS)/node_modules/.installed

# Each knows what it needs, and says so where it is missing.
sdk: setup ## Build the SDKs that have to be built (TypeScript needs npm, Java a JDK)
	set -e; for build in $(wildcard sdk/*/build.sh); do ./$$build; done

test-long: setup sdk $(LONG_TOOLS) ## Every other test, and all examples of each property: training, images, upgrades, fuzzing, clients, outages
	HYPOTHESIS_PROFILE=ci $(BIN)/python $(PYTEST) -m "long or hypothesis"

# Apart from the tests, which it makes half as slow again.
coverage: setup $(LONG_TOOLS) ## All tests once more, and the lines that none of them reaches
	HYPOTHESIS_PROFILE=ci $(BIN)/python $(PYTEST) --cov --cov-report=term

# Tools that tests run, each set apart: they have many packages that ours need not agree with.
# Schemathesis in one; in another what judges deploy/, and writes the bill of materials; generators of clients in the third;
# in the fourth what makes the guide; dbt in the fifth, and in the sixth with Airflow. A lock names every package, and pip stumbles over extras of packages where it looks itself.
.venv-%/.installed: requirements/%.txt
	echo "setting up $(@D)"
	$(PYTHON) -m venv $(@D)
	$(@D)/bin/python $(PIP) install --no-deps --require-hashes --requirement $<
	touch $@

check: setup ## Ruff (lint and format), mypy and the import rules
	$(BIN)/ruff check --quiet .
	$(BIN)/ruff format --check --quiet . || { echo "not formatted: make format"; exit 1; }
	$(BIN)/mypy --no-error-summary
	$(BIN)/lint-imports --no-logo >$(VENV)/imports.log || { cat $(VENV)/imports.log; exit 1; }
	echo "lint, format, types and imports are in order"

format: setup ## Format the code and mend what Ruff can mend safely
	$(BIN)/ruff check --quiet --fix . || true
	$(BIN)/ruff format --quiet .

size: setup ## How large the house is: files, lines, cases, words, import circles, edges between rooms
	$(BIN)/python -m tools.size

clients: setup $(CLIENTS)/node_modules/.installed ## Make clients of the OpenAPI document, compile and call them, and lint it: some minutes
	$(BIN)/python $(PYTEST) $(CLIENTS)

# Node.js comes with .venv-clients.
$(CLIENTS)/node_modules/.installed: $(CLIENTS)/package-lock.json .venv-clients/.installed
	PATH="$(CURDIR)/.venv-clients/bin:$$PATH" npm --prefix $(CLIENTS) ci --ignore-scripts --no-audit --no-fund --loglevel=error
	touch $@

# Apart from the lanes: Airflow is 420 MB, which takes minutes to install.
airflow: setup .venv-warehouse/.installed .venv-airflow/.installed ## The tests of recipes/warehouse, with Airflow: some minutes
	$(BIN)/python -m pytest tests/recipes/test_warehouse.py

SIZE := quick

bench: setup ## Measure the engine beside its peers: speed, quality, small files, training (SIZE=full: three hours, into docs/generated/benchmarks.md)
	$(BIN)/python -m bench.engine $(SIZE)

bench-serve: setup ## Measure the service beside its peers (SIZE=full: 12 minutes, into docs/generated/benchmarks.md)
	$(BIN)/python -m bench.serve $(SIZE)

bench-lending: setup ## Measure what deciding costs, and a simulation: a minute, into docs/generated/benchmarks.md
	$(BIN)/python -m bench.lending

bench-explain: setup ## Measure recourse beside DiCE and shap (SIZE=full: 10 minutes, into docs/generated/benchmarks.md)
	$(BIN)/python -m bench.explain $(SIZE)

bench-webhooks: setup ## Measure what webhooks cost scoring, and kill their worker (SIZE=full: 12 minutes, into docs/generated/benchmarks.md)
	$(BIN)/python -m bench.webhooks $(SIZE)

bench-shadow: setup ## Measure what a challenger costs scoring (SIZE=full: 16 minutes, into docs/generated/benchmarks.md)
	$(BIN)/python -m bench.shadow $(SIZE)

bench-monitoring: setup ## Hold drift, intervals and the report of a large book to what is promised (SIZE=full: 15 minutes, into docs/generated/benchmarks.md)
	$(BIN)/python -m bench.monitoring $(SIZE)

bench-onboarding: setup ## Walk 50,000 loans with planted faults to a live score, then hold a model against the truth: some minutes
	$(BIN)/python -m bench.onboarding
	$(BIN)/python -m bench.pilot

bench-leaks: setup ## Plant leaks of falling strength into the real tables and count those found: 20 minutes, into docs/generated/leaks.md
	$(BIN)/python -m bench.onboarding.leaks

bench-sizing: setup ## Measure what a core carries and what a score takes (SIZE=full: 7 minutes, into docs/generated/sizing.md)
	$(BIN)/python -m bench.sizing $(SIZE)

sbom: setup .venv-deploy/.installed ## Write the bills of materials (build/sbom) and the tables of docs/generated/licences.md
	$(BIN)/python -m tools.materials

model: setup ## Rebuild the built-in model, to the same hash
	$(BIN)/alama models build-builtin --out src/alama/builtin/model.json --report $(VENV)/builtin.html

ROUNDS := 50
EVENTS := 10000
FAULTS := 4
CUTS := 34

# The lines that say how far it is are the log of the tests.
reliability: setup ## Kill the service and its worker, change models, and have disks fail, under load: about half an hour
	RELIABILITY_ROUNDS=$(ROUNDS) RELIABILITY_EVENTS=$(EVENTS) RELIABILITY_FAULTS=$(FAULTS) \
		RELIABILITY_CUTS=$(CUTS) $(BIN)/python -m pytest --quiet \
		tests/reliability/test_kills.py tests/reliability/test_webhooks.py \
		tests/reliability/test_activation.py tests/reliability/test_failing_disk.py \
		--override-ini log_cli=true --log-cli-level=INFO --log-cli-format="%(asctime)s  %(message)s"

# Apart from the tests: it wants root, apt and some minutes. Every word of it is in build/walk.log.
walk: setup ## Do what the operator's guide says, block by block, on a Debian with nothing on it (needs root)
	$(BIN)/python -m tests.guide.walk

mutate: setup ## Mutation testing of the core: which changes of the code would no test notice?
	$(BIN)/mutmut run
	$(BIN)/mutmut results

test-all: ## All tests on every supported Python that is found here
	failed=; \
	for version in $(PYTHON_VERSIONS); do \
		if tools/find-python $$version >/dev/null; then \
			echo "Python $$version:"; \
			$(MAKE) --no-print-directory test-$$version || failed="$$failed $$version"; \
		else \
			echo "Python $$version: not found, not tested"; \
		fi; \
	done; \
	[ -z "$$failed" ] || { echo "failed on:$$failed"; exit 1; }

test-3.%: .venvs/3.%/.installed $(LONG_TOOLS)
	HYPOTHESIS_PROFILE=ci .venvs/3.$*/bin/python $(PYTEST) --quiet

.PRECIOUS: .venvs/3.%/.installed
.venvs/3.%/.installed: requirements/dev.txt pyproject.toml
	$(call install,.venvs/3.$*,$(or $(shell tools/find-python 3.$*),$(error Python 3.$* was not found)))

# The uv of the path, else one of our own.
UV = $(or $(shell command -v uv),.venvs/uv/bin/uv)

# The smaller sets take their versions from the largest, so that all three agree.
LOCK = $(UV) pip compile pyproject.toml --quiet --universal --python-version 3.11 \
	--fork-strategy fewest --generate-hashes --no-strip-extras --custom-compile-command "make lock" $(if $(UPGRADE),--upgrade)

lock: ## Lock requirements/*.txt from pyproject.toml (UPGRADE=1 takes the newest versions)
	command -v $(UV) >/dev/null || { $(PYTHON) -m venv .venvs/uv && .venvs/uv/bin/python $(PIP) install uv; }
	$(LOCK) --all-extras --group dev --output-file requirements/dev.txt >/dev/null
	$(LOCK) --constraints requirements/dev.txt --extra postgres --extra statements --extra traces --output-file requirements/serve.txt >/dev/null
	$(LOCK) --constraints requirements/dev.txt --extra batch --extra train \
		--output-file requirements/train.txt >/dev/null
	$(subst pyproject.toml,requirements/peers.in,$(LOCK)) --constraints requirements/train.txt \
		--output-file requirements/peers.txt >/dev/null
	$(subst pyproject.toml,requirements/dice.in,$(LOCK)) --constraints requirements/peers.txt \
		--no-emit-package xgboost --no-emit-package nvidia-nccl-cu12 \
		--output-file requirements/dice.txt >/dev/null
	$(subst pyproject.toml,requirements/api.in,$(LOCK)) --constraints requirements/dev.txt \
		--output-file requirements/api.txt >/dev/null
	$(subst pyproject.toml,requirements/clients.in,$(LOCK)) --constraints requirements/dev.txt \
		--output-file requirements/clients.txt >/dev/null
	$(subst pyproject.toml,requirements/deploy.in,$(LOCK)) --constraints requirements/dev.txt \
		--output-file requirements/deploy.txt >/dev/null
	$(subst pyproject.toml,requirements/guide.in,$(LOCK)) --constraints requirements/dev.txt \
		--output-file requirements/guide.txt >/dev/null
	$(subst pyproject.toml,requirements/warehouse.in,$(LOCK)) --output-file requirements/warehouse.txt >/dev/null
	$(subst pyproject.toml,requirements/airflow.in,$(LOCK)) --constraints requirements/warehouse.txt \
		--output-file requirements/airflow.txt >/dev/null

bundle: setup guide ## Everything for a machine without internet access: dist/alama-VERSION-offline.tar.gz (TRAIN=1, FOR=3.13)
	TRAIN=$(TRAIN) FOR=$(FOR) tools/bundle $(BIN)/python

image-check: setup ## Build both images twice in a clean Debian, compare them file by file, run them (root; minutes)
	$(BIN)/python -m tests.images.check

clean: ## Remove everything that the commands above and the recipes have made, but no scores (alama-data)
	rm -rf $(VENV) .venv-airflow .venv-api .venv-clients .venv-deploy .venv-dice .venv-guide .venv-peers .venv-warehouse .venvs src/alama/guide $(CLIENTS)/node_modules $(wildcard sdk/*/node_modules sdk/*/dist sdk/*/build) build dist mutants \
		htmlcov .coverage .coverage.* .import_linter_cache .mypy_cache .ruff_cache .pytest_cache .hypothesis \
		$(wildcard recipes/*/node_modules recipes/*/*.db recipes/*/*.db-journal recipes/*/lender.jsonl recipes/*/lender.tsv) \
		$(addprefix recipes/warehouse/,.airflow logs macros target warehouse.duckdb warehouse.duckdb.wal)
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
