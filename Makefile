# The two commands a newcomer needs: `make run` and `make test`. Each sets up what it needs by itself.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

.PHONY: run test test-all test-sixth soak live check check-static bench docs lock screenshots recording train lexicon minilm e5 clean

run: $(READY)
	@$(BIN)/ragforge $(ARGS)

# tests/__main__.py says how, tests/scope.py what is left out. ARGS="-n 0 -k words" runs some. All compile the same files, and share what they
# compile, whatever this shell says of keeping it.
test: $(READY)
	PYTHONDONTWRITEBYTECODE= $(BIN)/python -m tests $(ARGS)

# Everything on both kinds of server, with ten times the examples and kills: before a release, and when the store
# changed. Takes about an hour.
test-all: $(READY)
	PYTHONDONTWRITEBYTECODE= $(BIN)/python -m tests --all $(ARGS)

# A random sixth beside a load of 20: what fails then is a race. ARGS="--sixth TEXT" picks the same one again.
test-sixth: $(READY)
	PYTHONDONTWRITEBYTECODE= $(BIN)/python -m tests --sixth --load 20 $(ARGS)

# Kills, faults of system calls and a long session; docs/testing.md. ARGS="kills --minutes 60" runs a part.
soak: $(READY)
	$(BIN)/python -m tests.soak $(ARGS)

# Ten turns against the real services with your own keys; prints the cost before, asks, and after. MODELS="provider:name ..." names others.
live: $(READY)
	@$(BIN)/python scripts/live.py $(MODELS) $(if $(filter 1,$(YES)),--yes)

check: test check-static

check-static: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/pyright
	$(BIN)/lint-imports
	$(BIN)/codespell ragforge training/*.py tests docs examples benchmarks scripts README.md CHANGELOG.md

bench: $(READY)
	@for file in benchmarks/*.py; do echo "== $$file"; $(BIN)/python "$$file" || exit 1; done

screenshots: $(READY)
	$(BIN)/python scripts/screenshots.py

# The recording of the first minute at the top of README.md, an animated SVG.
recording: $(READY)
	$(BIN)/python scripts/recording.py

# The weights of the classifier that finds what to remember, made from training/statements, and of the one that
# tells what is outdated, from training/changes; some minutes.
train: $(READY)
	$(BIN)/python -m training $(ARGS)
	$(BIN)/python -m training.changes

# The words of both languages by their stems, made from ragforge/domain/language/*.txt.
lexicon: $(READY)
	$(BIN)/python scripts/make_lexicon.py

# The wheel of the embedder minilm; its weights are fetched once, and not kept with the sources.
minilm: $(READY)
	$(BIN)/python scripts/make_minilm.py $(ARGS)
	$(BIN)/python -m pip wheel --quiet --disable-pip-version-check --no-build-isolation --no-deps --wheel-dir dist packages/minilm
	@ls dist/ragforge_minilm-*.whl

# The wheel of the embedder e5, the same way.
e5: $(READY)
	$(BIN)/python scripts/make_e5.py $(ARGS)
	$(BIN)/python -m pip wheel --quiet --disable-pip-version-check --no-build-isolation --no-deps --wheel-dir dist packages/e5
	@ls dist/ragforge_e5-*.whl

# Pinned by version and hash. uv resolves for every platform and Python at once; nothing else uses it.
docs: $(READY)
	.venv/bin/python -m tests.documents

lock: $(READY)
	$(BIN)/pip install --quiet uv
	$(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header --group dev pyproject.toml requirements/build.in -o requirements/lock.txt

$(READY): requirements/lock.txt pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(0 if sys.version_info >= (3, 11) else "ragforge needs Python 3.11 or newer; this is " + sys.version.split()[0] + ". Run: make PYTHON=python3.12 ...")'
	@echo 'Setting up $(VENV) from requirements/lock.txt. This happens once and takes a minute or two.'
	@$(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --require-hashes -r requirements/lock.txt
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-build-isolation --no-deps -e .
	@touch $(READY)

clean:
	rm -rf $(VENV) .pytest_cache .ruff_cache build dist
