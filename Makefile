# What is typed often. What is done once a release, or for one purpose, is a script with --help
# (CONTRIBUTING.md lists them); logic lives in scripts/ and tools/.
#
#   REDIS_SERVER=path make test     against another server, say one that scripts/servers printed
#   make test ARGS="--test it"      the tests on real servers alone; ARGS is what cargo test takes

# Where cargo puts what it builds.
target := $(abspath $(or $(CARGO_TARGET_DIR),target))
export RUST_BACKTRACE ?= 1

.PHONY: $(shell sed -n 's/^\([a-z0-9-]*\):.*##.*/\1/p' Makefile)

help: ## lists the targets
	@sed -n 's/^\([a-z0-9-]*\):.*## /  make \1	/p' $(MAKEFILE_LIST) | expand -t 22

setup: ## installs what is missing (redis-server, libclang), from the system's packages
	@scripts/setup

module: setup ## builds the module (target/release/libseckill.so)
	cargo build --release -p seckill

build: module ## builds the module and the tools around it (target/packaged/seckill-*)
	cargo build --profile packaged -p seckill-tools
	@ln -sf ../release/libseckill.so $(target)/packaged/ # seckill-doctor looks beside itself

run: ## a sale of 20 seconds to watch in the browser, with rows, compared; server and page stay
	@scripts/run

demo: ## sells 1,000 units to 100,000 tries at once, makes rows of them, proves it, and ends
	@scripts/run demo

demo-managed: ## a sale whose unpaid units go to the first in the queue
	@scripts/run demo --managed --hold 1s --cancel-share 0.1 --waitlist

# Tests wait most of their time, for servers and for what takes a second: with as many threads as
# processors, these idle. With more than this the memory of many servers would decide.
test: export RUST_TEST_THREADS ?= $(shell echo $$(($$(nproc) < 4 ? 8 * $$(nproc) : 32)))
test: module ## all tests, against redis-server or REDIS_SERVER=path
	@scripts/setup test
	SECKILL_MODULE=$(target)/release/libseckill.so scripts/test $(ARGS)

# All storms at once, and every seed printed. Before them the courses of a sale, further.
soak: module ## crashes, failovers, histories and the command fuzzer for MINUTES=60
	SOAK=1 cargo test --release -p seckill-domain --test sales --test lock_queue --test money -- --nocapture
	SECKILL_MODULE=$(target)/release/libseckill.so STORM_MINUTES=$(or $(MINUTES),60) \
		cargo test --test storm -- --nocapture --test-threads 32 $(ARGS)
	DRILL_ROUNDS=200 cargo test -p seckill-tools --test worker drill:: -- --nocapture

book: ## the documentation as a book, English and Chinese (target/book/index.html)
	@scripts/book

fuzz: ## libFuzzer on every parser and rule, FOR=10 seconds each; TARGETS="rules ..." for some
	@FOR="$(FOR)" scripts/fuzz $(TARGETS)

bench: module ## measures against the script and GET, and the worker; ARGS=--smoke is short
	@scripts/setup test
	SECKILL_MODULE=$(target)/release/libseckill.so \
	    cargo bench --profile packaged -p seckill-tools --bench side_by_side -- $(ARGS)

# Of a module only its makers read the docs, so links to private items are fine.
lint: export RUSTDOCFLAGS = -D warnings -A rustdoc::private-intra-doc-links
lint: setup ## formatting, clippy and rustdoc, warnings are errors; crates; container files
	cargo fmt --all --check
	cargo clippy --workspace --all-targets -- -D warnings
	cargo doc --workspace --no-deps --document-private-items
	for script in scripts/* docs/tutorial/* examples/run .ci/run; do bash -n $$script || exit 1; done
	scripts/release-check
	scripts/lint-docker
	scripts/deny

package: ## a tarball and a .deb in target/package, each unpacked and tried
	@scripts/package

clients: setup ## the clients of every language against a server, NAMES="go python" for some
	@scripts/setup clients $(NAMES)
	cargo build --release -p seckill
	@examples/run $(NAMES)

# Another JDK than that of the path, if one is here, runs the tests on Spring Boot 4.
newest_java := $(lastword $(wildcard /usr/lib/jvm/temurin-*/bin/java))

# Tries on every server that scripts/servers has obtained, too.
java: setup ## builds and tests the Java library and the Spring Boot starter of java/
	@scripts/setup clients java
	cargo build --release -p seckill
	SECKILL_MODULE=$(target)/release/libseckill.so mvn -B -ntp -f java/pom.xml \
	    $(addprefix -Dboot-4.java=,$(newest_java)) verify

