# `make demo` and `make test` do everything from a fresh clone with Python 3.11.
PYTHON ?= python3
BIN := .venv/bin

.PHONY: install demo test check lint unit docs lock benchmark clean

install: .venv/installed

.venv/installed: requirements.lock pyproject.toml
	$(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet --disable-pip-version-check --requirement requirements.lock
	$(BIN)/pip install --quiet --disable-pip-version-check --no-deps --editable .
	touch $@

demo: install
	$(BIN)/irem demo --out runs/demo

# Everything: what CI runs.
test: lint unit docs

# The change at hand, in under a minute: lint, types, and the tests of the files that changed.
check: lint
	$(BIN)/python tools/check_change.py

lint: install
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports
	$(BIN)/pyright

# Most of the time of the tests is compiling code that runs once: neither LLVM's optimisation nor
# XLA's newer fusion emitters pay. The older emitters join products and sums where the processor
# can, which rounds differently; AVX has no such instruction. Each process has a core to itself.
QUICK_TO_COMPILE := --xla_backend_optimization_level=0 --xla_cpu_parallel_codegen_split_count=1
ifeq ($(shell uname -m),x86_64)
QUICK_TO_COMPILE += --xla_cpu_use_fusion_emitters=false --xla_cpu_max_isa=AVX
endif

unit: install
	XLA_FLAGS="$(QUICK_TO_COMPILE)" $(BIN)/pytest --numprocesses 2 --dist loadfile

docs: install
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet

# Pin the newest versions that the ranges in pyproject.toml allow.
lock: install
	$(BIN)/pip install --quiet pip-tools
	$(BIN)/pip-compile --quiet --extra dev --generate-hashes --allow-unsafe --strip-extras \
		--no-emit-index-url --no-emit-trusted-host --no-emit-find-links \
		--output-file requirements.lock pyproject.toml

# The pace of training beside the same step in eager PyTorch, in one run.
benchmark: install
	$(BIN)/pip install --quiet torch==2.13.0
	$(BIN)/python benchmarks/torch_peer.py

clean:
	rm -rf .venv site runs .pytest_cache .ruff_cache .hypothesis
