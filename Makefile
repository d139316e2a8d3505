# Two commands matter: `make demo` and `make test`. Both set up .venv first, from the hashed lock file.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed

.PHONY: help demo demo-federation dist bench-federation compile warm test test-slow test-object-store lint bench docs docs-tables install-size lock clean system

help: ## what you can make here
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /  make \1\t/' | expand -t 24

$(STAMP): requirements/dev.txt pyproject.toml tools/ensure_venv.sh
	@PYTHON=$(PYTHON) bash tools/ensure_venv.sh $(VENV)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes --no-compile -r requirements/dev.txt
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-build-isolation --no-deps -e .
	@$(BIN)/python tools/compile_ahead.py
	@touch $@

demo: $(STAMP) ## a release of invented people, its checks and dossier, and all methods beside it; writes demo/
	@$(BIN)/coterie demo --output demo --force

demo-federation: $(STAMP) ## an aggregator and three owners as real processes; horizontal, vertical and blinded studies
	@$(BIN)/python tools/demo_federation.py --output demo-federation

dist: $(STAMP) ## source archive and wheel, in dist/
	@rm -rf dist
	@$(BIN)/python tools/compile_ahead.py
	@$(BIN)/python -m build --no-isolation --sdist --wheel --outdir dist .

system: ## install or name the system packages that the tests need
	@bash tools/system_packages.sh

# Once, not in each of the hundreds of processes that tests start. pip would compile on one core, and the packages' own tests
# too; a file of theirs that is no Python is no fault here.
compile: $(STAMP)
	@$(BIN)/python -m compileall -qq -j 0 -x '/tests/' $(VENV)/lib || true
	@$(BIN)/python -m compileall -q src

# Each of the three workers would rewrite all test modules, and compile the loops that it needs: done once, on the core that
# mypy leaves free. Bytecode is kept even where PYTHONDONTWRITEBYTECODE asks for none.
warm: compile
	@PYTEST_DEBUG_TEMPROOT=$$(mktemp -d) PYTHONDONTWRITEBYTECODE= $(BIN)/python -m pytest -q -k test_every_loop_of_the_chain_becomes_machine_code

# Temporary folders of their own: pytest would otherwise tidy up what other runs on this machine, also killed ones, left behind.
# Three workers on two cores: browsers, servers and Spark keep a worker waiting a third of the time.
test: $(STAMP) ## the whole test suite
	@$(MAKE) --no-print-directory -j 3 --output-sync system lint warm # types are checked on one core only
	@PYTEST_DEBUG_TEMPROOT=$$(mktemp -d) $(BIN)/python -m pytest -n 3 --dist worksteal -m "not slow"

# `make test` draws the same noise and tries the same examples every time; here both are new.
test-slow: $(STAMP) system ## slow sweeps, and everything that is drawn drawn afresh
	@COTERIE_FRESH_NOISE=1 $(BIN)/python -m pytest -m "slow or statistical or hypothesis"

test-object-store: $(STAMP) ## Spark and S3: fetches Hadoop's program for S3 and a service that speaks it (300 MB, once)
	@$(BIN)/python tools/fetch_s3a.py .s3a
	@COTERIE_S3A=.s3a $(BIN)/python -m pytest tests/engines/test_s3a.py

lint: $(STAMP) ## ruff, mypy --strict, import contracts
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports --no-cache > .lint-imports.log 2>&1 || { cat .lint-imports.log; exit 1; }; rm -f .lint-imports.log

bench: $(STAMP) ## ratios against the limit and the obvious way, measured side by side
	@$(BIN)/python -m benchmarks

bench-federation: $(STAMP) ## 200 owners in one study; 50 owners × 100,000 rows × 10 attributes assembled in bounded memory
	@$(BIN)/python -m benchmarks.federation

docs: $(STAMP) ## build the documentation site into site/
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet
	@echo "Open site/index.html."

docs-tables: $(STAMP) ## write the generated tables into the documents
	@$(BIN)/python tools/write_tables.py
	@$(BIN)/python tools/write_reference.py
	@$(BIN)/python tools/write_openapi.py
	@$(BIN)/coterie certificate schema > docs/reference/certificate.schema.json.new
	@mv docs/reference/certificate.schema.json.new docs/reference/certificate.schema.json

install-size: $(STAMP) ## measure a fresh install of the core (at most 680 MB)
	@$(BIN)/python tools/measure_install.py

lock: ## write requirements/dev.txt anew (needs uv)
	uv pip compile pyproject.toml --extra all --extra dev --generate-hashes --universal --python-version 3.11 \
	  --no-emit-index-url --no-emit-find-links --no-header --quiet --output-file requirements/dev.txt

clean: ## remove what make made
	rm -rf $(VENV) demo demo-federation dist site .s3a .mypy_cache .pytest_cache .ruff_cache .hypothesis
