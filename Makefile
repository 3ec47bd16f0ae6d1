# Needs Python 3.11+, make and a package registry; everything else is installed into .venv from the lock.
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:

# Tests start hundreds of programs; without compiled modules each of them would compile the sources again.
export PYTHONDONTWRITEBYTECODE :=

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
# Two workers: the suite starts real servers and JVMs, and more of them than cores makes everything slower.
PYTEST := $(BIN)/pytest -n 2 --dist worksteal

.PHONY: help setup demo browser test test-fast test-long check page-types format lock vendor docs bench clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-10s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: $(STAMP) ## create .venv and install the locked dependencies and the package

# The stamp holds a digest of its inputs: a fresh checkout gives files new times without new content,
# and then nothing has to be installed again. The lock is complete, so pip resolves nothing: with hashes it would refuse
# a package that another one requires with an extra, such as sqlalchemy[asyncio].
$(STAMP): pyproject.toml requirements.lock
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
	  || { echo "omnigraph needs Python 3.11 or newer, but '$(PYTHON)' is not; try: make PYTHON=python3.12 $(MAKECMDGOALS)" >&2; exit 1; }
	@digest=$$(cat pyproject.toml requirements.lock | cksum); \
	if [ -x $(BIN)/omnigraph ] && [ "$$(cat $@ 2>/dev/null)" = "$$digest" ]; then touch $@; exit 0; fi; \
	echo "Installing the locked dependencies into $(VENV) (once per change of the lock) ..."; \
	[ -x $(BIN)/python ] || $(PYTHON) -m venv $(VENV); \
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --require-hashes -r requirements.lock; \
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-build-isolation --no-deps -e .; \
	echo "$$digest" > $@

demo: $(STAMP) ## show what it does, on a graph of a million entities
	@PATH="$(CURDIR)/$(BIN):$$PATH" omnigraph demo --replace omnigraph-demo

# Debian's and Ubuntu's own package: Playwright would download a browser of its own from another host.
browser: ## install Chromium for the tests of the page, if it is missing (Debian and Ubuntu, as root)
	@for name in chromium chromium-browser google-chrome; do if command -v $$name > /dev/null; then exit 0; fi; done; \
	if ! command -v apt-get > /dev/null || [ "$$(id -u)" != 0 ]; then \
	  echo "browser: Chromium is missing; install it with the package manager of your system" >&2; exit 1; \
	fi; \
	export DEBIAN_FRONTEND=noninteractive; \
	apt-get -qq -o Acquire::Retries=1 -o Acquire::http::Timeout=30 update \
	  && apt-get -qq install --yes --no-install-recommends chromium fonts-liberation > /dev/null \
	  || { echo "browser: apt-get could not install Chromium" >&2; exit 1; }

test: $(STAMP) ## run the tests
	@$(PYTEST)

# Directories that compute answers from their arguments, and the rules of the tree: no server, no JVM, few files.
FAST := architecture unit

test-fast: $(STAMP) ## run the pure packages and the architecture tests, in less than a minute
	@HYPOTHESIS_PROFILE=fast $(PYTEST) $(addprefix tests/,$(FAST))

test-long: $(STAMP) ## run the long sweeps as well; PART=name for one part of them, PART=list for the names
ifdef PART
	@$(BIN)/pytest -m long --part $(PART) --counts build/cells/$(PART).json
else
	@$(PYTEST) -m "long or not long"
endif

check: $(STAMP) ## everything a change must pass: format, lint, types, import contracts, tests
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	@$(MAKE) --no-print-directory page-types
	@$(MAKE) --no-print-directory test

# The modules of the page are plain JavaScript with types in comments. Node is only needed to check them.
page-types: ## check the types of the page's modules (skipped without Node or its registry)
	@if ! command -v npm > /dev/null; then echo "page-types: skipped, because npm is not installed" >&2; exit 0; fi; \
	cd vendor; \
	if ! cmp -s package-lock.json node_modules/.lock; then \
	  npm ci --silent --ignore-scripts --no-audit --no-fund --fetch-retries=1 --fetch-timeout=30000 \
	    || { echo "page-types: skipped, because npm could not install TypeScript" >&2; exit 0; }; \
	  cp package-lock.json node_modules/.lock; \
	fi; \
	node_modules/.bin/tsc -p jsconfig.json && echo "page-types: no errors"

format: $(STAMP) ## format the code and sort the imports
	$(BIN)/ruff check --fix-only --quiet .
	$(BIN)/ruff format .

# Every extra: the suites of all of them run in the tests.
EXTRAS := analytics client delta dev iceberg igraph keyring langchain langgraph llama-index mcp namespace networkx server spark

lock: $(STAMP) ## resolve the dependencies of pyproject.toml into requirements.lock
	$(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes $(EXTRAS:%=--extra %) \
	  --no-annotate --no-emit-index-url --no-emit-find-links --custom-compile-command "make lock" \
	  --output-file requirements.lock pyproject.toml > /dev/null

# The lock holds versions and checksums, and the result is committed: users need no Node.
vendor: ## bundle the libraries of the page from vendor/package-lock.json (needs Node)
	@cd vendor && npm ci --silent --no-audit --no-fund && node build.mjs && rm -rf node_modules

docs: $(STAMP) ## write the reference pages from the program
	@$(BIN)/python -m docs.generate

bench: $(STAMP) ## run the benchmarks
	@$(BIN)/python -m benchmarks

clean: ## remove .venv, caches and build products
	rm -rf $(VENV) build dist .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis
	find src tests benchmarks -name __pycache__ -type d -prune -exec rm -rf {} + 2>/dev/null || true
