# make repro                    the demo reef, from nothing to a scored, versioned result
# make repro PARAMS=params/x    another profile, beside the workspace in runs/x
# make test | make lint         what a change must pass
# make test-fast                the same tests without those that run DVC
# make coverage                 which lines and branches the fast tests reach; fails below the floor in pyproject.toml
# make measure                  how large the project is
# make bench                    how fast it is beside the published procedure

PYTHON ?= python3
PARAMS ?= params.yaml
VENV := $(CURDIR)/.venv
# Absolute: a relative entry would not be found by queued experiments, which run in another folder.
export PATH := $(VENV)/bin:$(PATH)

PROFILE := $(basename $(notdir $(PARAMS)))
RUN := $(CURDIR)/runs/$(PROFILE)
WORKFLOWS := $(wildcard .github/workflows/*.yml)

.PHONY: install repro test test-fast coverage lint measure bench format deps
.DELETE_ON_ERROR:

install: $(VENV)/.installed

ifeq ($(PARAMS),params.yaml)
repro: $(VENV)/.installed
	python -m reseed check
	python .ci/unlock
	if python -m stages.pull --changed; then dvc repro --force --single-item pull; fi
	dvc repro
	python -m reseed scores
else
repro: $(VENV)/.installed
	python -m reseed check --params "$(PARAMS)"
	sh .ci/profile "$(PARAMS)" "$(RUN)"
	python .ci/unlock "$(RUN)"
	cd "$(RUN)" && if python -m stages.pull --changed; then dvc repro --force --single-item pull; fi
	cd "$(RUN)" && DVC_ROOT="$(CURDIR)" dvc repro
	cd "$(RUN)" && python -m reseed scores
endif

PYTEST := python -m pytest -n 2 --dist loadgroup --durations=20

test: $(VENV)/.installed-dev
	$(PYTEST) $(ARGS)

test-fast: $(VENV)/.installed-dev
	$(PYTEST) --ignore tests/pipeline $(ARGS)

coverage: $(VENV)/.installed-dev
	rm -rf .coverage
	python -m coverage run -m pytest -n 2 --dist loadgroup --ignore tests/pipeline $(ARGS)
	python -m coverage combine --quiet
	python -m coverage report

lint: $(VENV)/.installed-dev
	ruff format --check .
	ruff check .
	mypy
	lint-imports
	python -m tests.deps
	check-jsonschema --builtin-schema vendor.github-workflows $(WORKFLOWS)
	zizmor --offline --quiet $(WORKFLOWS)

measure: $(VENV)/.installed-dev
	python -m tests.measure

bench: $(VENV)/.installed-dev
	python -m benchmarks.bench $(ARGS)

deps: $(VENV)/.installed-dev
	python -m tests.deps --write

format: $(VENV)/.installed-dev
	ruff format .
	ruff check --fix .

$(VENV)/.created:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "error: $(PYTHON) is older than Python 3.11; name a newer one: make repro PYTHON=python3.12" >&2; exit 2; }
	$(PYTHON) -m venv "$(VENV)"
	@touch "$@"

$(VENV)/.installed: $(VENV)/.created requirements.txt requirements.lock
	python -m pip install --disable-pip-version-check --quiet -r requirements.txt -c requirements.lock
	@touch "$@"

$(VENV)/.installed-dev: $(VENV)/.installed requirements-dev.txt requirements-extras.txt
	python -m pip install --disable-pip-version-check --quiet -r requirements-dev.txt -c requirements.lock
	@touch "$@"
