# Two commands to know: `make demo` and `make test`. Both set everything up by themselves in .venv.
PYTHON ?= python3
BIN := .venv/bin
WORKERS ?= 2
# What is loaded is compiled then: most of what libraries bring along is never loaded here.
INSTALLED := $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile
# Commands and workers that start often would be compiled anew each time.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help demo test test-all test-rest test-spark test-snippets test-faults check docs pictures bench clean setup setup-all java test-browser test-wheel test-r chromium r collect-demo test-postgres postgresql studio studio-demo studio-pictures
help:            ## this list
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*##/\t/' | expand -t 12

demo: .venv/.user ## protect a generated population of 100,000 people and show the result
	@$(BIN)/pramana demo

test: .venv/.developer ## run the tests, quickly: minutes on two cores
	@$(BIN)/python -m pytest -q -n $(WORKERS) --dist worksteal

test-all: .venv/.developer ## run every test at full depth
	@PRAMANA_TESTS=deep $(BIN)/python -m pytest -q -n $(WORKERS) --dist worksteal

test-rest: .venv/.developer ## run what make test leaves out of make test-all
	@PRAMANA_TESTS=rest $(BIN)/python -m pytest -q -n $(WORKERS) --dist worksteal

test-spark: java .venv/.spark ## run every test of the Spark engine; installs pyspark, needs Java 17 or later
	@PRAMANA_TEST_SPARK=1 $(BIN)/python -m pytest -q -n $(WORKERS) --dist loadfile tests/spark

test-snippets: r .venv/.developer ## run what release folders say in R and SPSS; needs R and PSPP
	@$(BIN)/python -m pytest -q tests/release/test_explained.py tests/release/test_portable.py tests/release/test_portable_models.py

test-r: r .venv/.user ## check the R package in r/pramana, its pages and its tests; needs R
	@rm -rf build/r && mkdir -p build/r
	@cd build/r && export RETICULATE_PYTHON=$(CURDIR)/$(BIN)/python && R CMD build --quiet ../../r/pramana && \
	  R CMD check --no-manual pramana_*.tar.gz | tee check.log && ! grep -Eq '^Status: .*(ERROR|WARNING)' check.log

test-browser: chromium .venv/.browser ## run every test that needs a real browser; installs Playwright, needs Chromium
	@PRAMANA_TEST_BROWSER=1 $(BIN)/python -m pytest -q -n $(WORKERS) --dist worksteal tests/browser

test-postgres: postgresql .venv/.developer ## run every test that needs a real PostgreSQL
	@PRAMANA_TEST_POSTGRES=1 $(BIN)/python -m pytest -q tests/postgres

test-wheel: .venv/.developer ## build the wheel, install it with what it declares alone, run README in it
	@PRAMANA_TEST_WHEEL=.wheel $(BIN)/python -m pytest -q tests/wheel

collect-demo: .venv/.user ## a survey of 5,000 simulated people, from the page to the release
	@$(INSTALLED) --editable '.[collect]'
	@rm -rf collect-demo
	@$(BIN)/pramana collect demo

studio: .venv/.studio ## the whole path in a browser, on the tables of this folder (FOLDER=... for another)
	@$(BIN)/pramana studio $(or $(FOLDER),.)

studio-demo: .venv/.studio ## the same on 100,000 people who do not exist
	@[ -f demo-data/people.parquet ] || $(BIN)/pramana demo >/dev/null
	@$(BIN)/pramana studio demo-data

studio-pictures: chromium .venv/.browser ## the screenshots of docs/studio.md anew
	@$(BIN)/python -m benchmarks.studio_pictures

test-faults: .venv/.developer ## kills, signals, pairs at once, full disks (as root) and mutated inputs: less than an hour on two cores
	@$(BIN)/python -m benchmarks faults
	@PRAMANA_KILLS=200 $(BIN)/python -m pytest -q tests/collect/test_server.py -k kill

check: .venv/.developer ## ruff, mypy strict, import-linter, spelling, doctests
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/codespell README.md CHANGELOG.md CONTRIBUTING.md SECURITY.md docs src r
	$(BIN)/python -m pytest -q --doctest-modules src

docs: .venv/.docs ## build the documentation as a site, strictly, into build/site
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet
	@PRAMANA_TEST_SITE=build/site $(BIN)/python -m pytest -q tests/pages

pictures: .venv/.developer ## draw the layers and the pictures of docs/examples anew, by running the pages
	@$(BIN)/python -m benchmarks.house --picture docs/pictures/layers.svg
	@$(BIN)/python -m tests.docs.draw

bench: .venv/.bench ## measure against bare engines and against peers, into benchmarks/RESULTS.md
	$(BIN)/python -m benchmarks --write

setup: .venv/.developer ## only set up the virtual environment

setup-all: .venv/.all ## and what the site, Spark and a browser need, all at once

clean:           ## remove what the other commands made
	rm -rf .venv .wheel build dist demo-data demo-release collect-demo .pytest_cache .mypy_cache .ruff_cache .hypothesis

.venv/bin/python:
	$(PYTHON) -m venv .venv

.venv/.user: .venv/bin/python pyproject.toml
	$(INSTALLED) --editable .
	@touch $@

.venv/.developer: .venv/bin/python pyproject.toml
	$(INSTALLED) --editable '.[dev]'
	@touch $@ .venv/.user

.venv/.studio: .venv/.user
	$(INSTALLED) --editable '.[studio,files]'
	@touch $@

.venv/.browser: .venv/.developer
	$(INSTALLED) --editable '.[browser]'
	@touch $@

.venv/.docs: .venv/.developer
	$(INSTALLED) --editable '.[docs]'
	@touch $@

.venv/.spark: .venv/.developer
	$(INSTALLED) --editable '.[spark]'
	@touch $@

.venv/.all: .venv/.developer
	$(INSTALLED) --editable '.[browser,docs,spark]'
	@touch .venv/.browser .venv/.docs .venv/.spark $@

# What cannot be installed is skipped by its benchmark, with the reason.
.venv/.bench: .venv/.developer
	for extra in '--editable .[spark]' multi-freq-ldpy pure-ldp opendp statsmodels k-means-constrained; do \
	  $(INSTALLED) $$extra || true; done
	@$(BIN)/python -m venv .venv/dpmm && .venv/dpmm/bin/python -m pip install --quiet dpmm || rm -rf .venv/dpmm
	@touch $@

java:
	@"$${JAVA_HOME:+$$JAVA_HOME/bin/}java" -version 2>&1 | grep -Eq 'version "(1[7-9]|[2-9][0-9])' || \
	  { echo "Spark needs a Java runtime of version 17 or later, and none was found. Install one, or set JAVA_HOME." >&2; exit 2; }

# Debian's packages are installed by name where they are missing and may be; otherwise it is said what to install.
INSTALL = [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null && apt-get update -qq && \
  DEBIAN_FRONTEND=noninteractive apt-get install -y -qq

R_PACKAGES = r-base-core r-cran-digest r-cran-reticulate r-cran-knitr r-cran-markdown pspp

chromium:
	@command -v chromium >/dev/null || { $(INSTALL) chromium >/dev/null; } || \
	  { echo "The tests in a browser need Chromium, and none was found. Install the package 'chromium'." >&2; exit 2; }

r:
	@{ command -v pspp && Rscript -e 'for (p in c("digest", "reticulate", "knitr", "markdown")) stopifnot(nzchar(system.file(package = p)))'; } >/dev/null 2>&1 || \
	  { $(INSTALL) --no-install-recommends $(R_PACKAGES) >/dev/null; } || \
	  { echo "These tests need R and PSPP, and one was not found. Install the packages: $(R_PACKAGES)." >&2; exit 2; }

postgresql:
	@command -v initdb >/dev/null || ls /usr/lib/postgresql/*/bin/initdb >/dev/null 2>&1 || { $(INSTALL) postgresql >/dev/null; } || \
	  { echo "These tests need PostgreSQL, and none was found. Install the package 'postgresql'." >&2; exit 2; }
