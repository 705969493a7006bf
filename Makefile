# Logic lives in scripts/, tools/ and benches/; this is a list of what there is to do.
#
#   REDIS_SERVER=path make test     against another server, say one that `make servers` printed

# Where cargo puts what it builds.
target := $(abspath $(or $(CARGO_TARGET_DIR),target))
export RUST_BACKTRACE ?= 1

.PHONY: help package storm setup setup-test build run demo demo-managed test soak bench bench-rows lint servers \
    matrix

help: ## lists the targets
	@sed -n 's/^\([a-z-]*\):.*## /  make \1	/p' $(MAKEFILE_LIST) | expand -t 22

setup: ## installs what is missing (redis-server, libclang), from the system's packages
	@scripts/setup

setup-test: ## that, and the databases that the tests and the benchmark use
	@scripts/setup test

build: setup ## builds the module (target/release/libseckill.so) and the programs of tools/
	cargo build --release -p seckill -p seckill-tools

run: ## sells 1,000 units to 100,000 tries, makes rows of them, proves it; the server stays
	@scripts/run

demo: ## the same, and ends
	@scripts/run demo

demo-managed: ## the same with a managed sale: holds, payments, cancellations, retries
	@scripts/run demo --managed --hold-ms 2000 --pay-share 0.7 --cancel-share 0.1 --retries 0.05

test: setup-test build ## all tests, against redis-server or REDIS_SERVER=path
	SECKILL_MODULE=$(target)/release/libseckill.so cargo test --workspace

storm: build ## crashes, failovers and the command fuzzer for half a minute
	SECKILL_MODULE=$(target)/release/libseckill.so cargo test --test storm

# All storms at once, and every seed printed.
soak: build ## the same for MINUTES=60; SEED=n repeats a history
	SECKILL_MODULE=$(target)/release/libseckill.so STORM_MINUTES=$(or $(MINUTES),60) \
		cargo test --test storm -- --nocapture --test-threads 32 $(ARGS)

# Options of one benchmark mean nothing to the other, but for --smoke.
bench: setup ## measures against the script, GET and a no-op, and the worker; ARGS=--smoke is short
	cargo bench --bench side_by_side -- $(ARGS)
	$(if $(filter-out --smoke,$(ARGS)),,@$(MAKE) --no-print-directory bench-rows)

bench-rows: setup-test build ## the part of it that measures the worker
	SECKILL_MODULE=$(target)/release/libseckill.so \
	    cargo bench -p seckill-tools --bench rows -- $(ARGS)

# Of a module only its makers read the docs, so links to private items are fine.
lint: export RUSTDOCFLAGS = -D warnings -A rustdoc::private-intra-doc-links
lint: setup ## formatting, clippy and rustdoc, warnings are errors; Dockerfile and compose.yaml
	cargo fmt --all --check
	cargo clippy --workspace --all-targets -- -D warnings
	cargo doc --workspace --no-deps --document-private-items
	for script in scripts/* .ci/run; do bash -n $$script || exit 1; done
	scripts/lint-docker

package: ## a tarball and a .deb in target/package, each unpacked and tried
	@scripts/package

servers: ## obtains newer Redis and Valkey servers to test against and prints their paths
	@scripts/servers $(or $(NAMES),all)

matrix: ## the integration tests on every server that can be had, NAMES="redis-8.10 ..." for some
	@scripts/matrix $(NAMES)
