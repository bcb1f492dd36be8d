# Stepscope: one command per task. `make` alone lists them.
.DEFAULT_GOAL := help
SHELL := bash
.SHELLFLAGS := -eu -o pipefail -c
MAKEFLAGS += --no-print-directory

PYTHON ?= python3.11
OTHER_PYTHONS ?= 3.12 3.13
FUZZ_SECONDS ?= 60
JOBS ?= $(shell nproc)
VENV := .venv
RESULTS := build/results
DEMO := outputs/demo
CXX_SOURCES = $(shell find src fuzz bench tests examples -name '*.cc' -o -name '*.h')

.PHONY: help
help:  ## Print this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-14s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: setup
setup:  ## Install what is missing from Debian and PyPI (quick when nothing is)
	@PYTHON=$(PYTHON) scripts/setup

.PRECIOUS: build/%/build.ninja
build/%/build.ninja: CMakePresets.json $(VENV)/.stamp
	cmake --preset $*

$(VENV)/.stamp:
	@PYTHON=$(PYTHON) scripts/setup

.PHONY: build
build: setup build-release  ## Build .venv/bin/stepscope and the Python package
	@ln -sf ../../build/release/bin/stepscope $(VENV)/bin/stepscope
	@$(VENV)/bin/stepscope doctor --build-torch || echo "build: PyTorch's operators are not recorded"

build-%: build/%/build.ninja
	cmake --build --preset $* --parallel $(JOBS)

.PHONY: demo
demo: build  ## Profile a small PyTorch training run and print what Stepscope says about it
	@scripts/demo $(DEMO)

# What is built is built with all cores; then parts that use one core each run side by side.
CORES := $(JOBS)
# A part that fails does not hide what others would have found: the end names all tests that failed.
SIDE_BY_SIDE = RUN_AGAIN=1 $(MAKE) --jobs=$(CORES) --keep-going --output-sync=line JOBS=1
SUM_UP = scripts/run_again; $(VENV)/bin/python scripts/test_summary.py $(RESULTS) || status=1; exit $$status
PYTEST_PARTS := pytest-wheel pytest-viewer pytest-frameworks $(OTHER_PYTHONS:%=pytest-%) pytest-asan

.PHONY: test
test:  ## Lint; release, ASan and UBSan tests; 10 s per fuzzer; golden, CLI, Python, wheel, browser, TensorFlow tests
	@rm -rf $(RESULTS) && mkdir -p $(RESULTS)
	@$(MAKE) lint build build-asan
	@status=0; \
	$(SIDE_BY_SIDE) FUZZ_SECONDS=10 pytest-release $(PYTEST_PARTS) ctest-release ctest-asan vitest fuzz || status=1; \
	$(SUM_UP)

.PHONY: test-all
test-all:  ## The same, and TSan, 3 minutes per fuzzer, heavy live tests, TensorBoard, TensorFlow, JAX, Dask, Azurite, MLflow
	@rm -rf $(RESULTS) && mkdir -p $(RESULTS)
	@$(MAKE) lint build build-asan build-tsan build-benchmarks
	@status=0; \
	$(SIDE_BY_SIDE) FUZZ_SECONDS=180 fuzz ctest-release ctest-asan ctest-tsan vitest $(PYTEST_PARTS) || status=1; \
	RUN_AGAIN=1 $(MAKE) --keep-going pytest-all pytest-tensorboard pytest-frameworks-all pytest-cluster pytest-pipelines || status=1; \
	$(SUM_UP)

ctest-%: build-%
	JOBS=$(JOBS) scripts/run_ctest $*

SUITES := tests/golden tests/cli tests/serve tests/python tests/recorder tests/sample
pytest-release: build
	scripts/run_pytest pytest $(VENV)/bin/python -m 'not heavy' $(SUITES)

pytest-all: build
	scripts/run_pytest pytest-all $(VENV)/bin/python $(SUITES)

# The command's tests once more, with the sanitized binary.
pytest-asan: build-asan
	STEPSCOPE_BIN=build/asan/bin/stepscope scripts/run_pytest pytest-asan $(VENV)/bin/python \
	  -m 'not heavy and not live' tests/golden tests/cli tests/serve tests/recorder

# The tab in TensorBoard itself, in Chromium.
pytest-tensorboard: build browser
	@scripts/setup tensorboard
	scripts/run_pytest pytest-tensorboard .venv-tensorboard/bin/python tests/tensorboard

# Live, with TensorFlow and JAX in an environment of their own.
pytest-frameworks: build
	@scripts/test_frameworks -m 'not heavy'

pytest-frameworks-all: build
	@scripts/test_frameworks

# On a Dask cluster and on a blob store, in an environment of their own.
pytest-cluster: build
	@scripts/test_cluster

# Against real Azurite and MLflow servers, and with Lightning and transformers, likewise.
pytest-pipelines: build
	@scripts/test_pipelines

pytest-wheel: wheel
	scripts/run_pytest pytest-wheel $(VENV)/bin/python tests/wheel

# The page in Chromium, where there is one.
pytest-viewer: build browser
	scripts/run_pytest pytest-viewer $(VENV)/bin/python tests/viewer

.PHONY: browser
browser:
	@scripts/setup browser

# The page's own tests. `make build` has installed what they need, where there is Node.js.
vitest: build
	@if [ -x viewer/node_modules/.bin/vitest ]; then cd viewer && npm test -s -- \
	  --reporter=dot --reporter=junit --outputFile.junit=$(CURDIR)/$(RESULTS)/vitest.xml; \
	else echo "vitest: no Node.js; the page is not tested"; fi

# The Python tests for another interpreter, where there is one.
pytest-3.%: build
	@scripts/test_other_python 3.$*

.PHONY: bench
bench: build build-benchmarks  ## Measure against peers and limits
	@scripts/setup peers
	@for version in $(OTHER_PYTHONS); do scripts/setup peers $$version; done
	$(VENV)/bin/python bench/run.py

.PHONY: zoo
zoo: build  ## Check the diagnosis on scripts with planted problems (examples/bottlenecks)
	$(VENV)/bin/python scripts/zoo.py

build-benchmarks: build-release
	cmake --build --preset release --parallel $(JOBS) --target benchmarks

.PHONY: fuzz
fuzz: setup build-asan  ## Run every fuzzer for FUZZ_SECONDS (60)
	@JOBS=$(JOBS) scripts/fuzz $(FUZZ_SECONDS)

.PHONY: lint
lint: setup  ## Check layers, formatting and types
	$(VENV)/bin/python scripts/check_layers.py
	@echo $(CXX_SOURCES) | xargs -n 8 -P $(JOBS) clang-format-16 --dry-run -Werror
	$(VENV)/bin/ruff check -q .
	$(VENV)/bin/ruff format -q --check .
	$(VENV)/bin/mypy
	@if [ -x viewer/node_modules/.bin/prettier ]; then npm --prefix viewer run -s lint; fi

.PHONY: format
format: setup  ## Format all sources
	@echo $(CXX_SOURCES) | xargs clang-format-16 -i
	$(VENV)/bin/ruff check -q --fix .
	$(VENV)/bin/ruff format -q .
	@if [ -x viewer/node_modules/.bin/prettier ]; then npm --prefix viewer run -s format; fi

.PHONY: golden-update
golden-update: build  ## Write what is printed now as expected, and show the difference
	-$(VENV)/bin/python -m pytest -q tests/golden --update-golden
	git diff -- tests

.PHONY: wheel
wheel: setup  ## Build dist/*.whl, with the shared libraries it needs inside
	@scripts/wheel

.PHONY: clean
clean:  ## Remove everything that was built or installed here
	rm -rf build dist outputs .venv .venv-* .deps .mypy_cache .ruff_cache .pytest_cache viewer/node_modules viewer/dist
	rm -rf python/stepscope/_{core,torch-}*.so python/stepscope/{include,lib}
