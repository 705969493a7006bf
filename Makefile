# Logic lives in scripts/, tools/ and benches/; this is a list of what there is to do.
#
#   REDIS_SERVER=path make test     against another server, say one that `make servers` printed

# Where cargo puts what it builds.
target := $(abspath $(or $(CARGO_TARGET_DIR),target))
export RUST_BACKTRACE ?= 1

.PHONY: $(shell sed -n 's/^\([a-z0-9-]*\):.*##.*/\1/p' Makefile)

help: ## lists the targets
	@sed -n 's/^\([a-z0-9-]*\):.*## /  make \1	/p' $(MAKEFILE_LIST) | expand -t 22

setup: ## installs what is missing (redis-server, libclang), from the system's packages
	@scripts/setup

setup-test: ## that, and the databases that the tests and the benchmark use
	@scripts/setup test

module: setup ## builds the module (target/release/libseckill.so)
	cargo build --release -p seckill

build: module ## builds the module and the tools around it (target/release/seckill-*)
	cargo build --release -p seckill-tools

run: ## sells 1,000 units to 100,000 tries, makes rows of them, proves it; the server stays
	@scripts/run

demo: ## the same, and ends
	@scripts/run demo

demo-managed: ## the same with a managed sale: holds, payments, cancellations, retries
	@scripts/run demo --managed --hold 2s --pay-share 0.7 --cancel-share 0.1 --retries 0.05

doctor: build ## examines your own scripts, SCRIPTS="seckill.lua unlock.lua"
	$(target)/release/seckill-doctor $(or $(SCRIPTS),tests/it/seckill.lua tests/it/unlock.lua)

test: setup-test module ## all tests, against redis-server or REDIS_SERVER=path
	SECKILL_MODULE=$(target)/release/libseckill.so cargo test --workspace

storm: module ## crashes, failovers, histories and the command fuzzer, short
	SECKILL_MODULE=$(target)/release/libseckill.so cargo test --test storm

# All storms at once, and every seed printed. Before them the courses of a sale, further.
soak: module ## the same for MINUTES=60; SEED=n repeats a history
	SOAK=1 cargo test --release -p seckill-domain --test sales --test lock_line -- --nocapture
	SECKILL_MODULE=$(target)/release/libseckill.so STORM_MINUTES=$(or $(MINUTES),60) \
		cargo test --test storm -- --nocapture --test-threads 32 $(ARGS)

tutorial: module ## six mistakes of flash sales and their cures, run and compared with the pages
	@docs/tutorial/run --check

book: ## the documentation as a book, English and Chinese (target/book/index.html)
	@scripts/book

book-test: ## that, and every page opened in Chromium: links, scripts, width, search
	@scripts/book test

fuzz: ## libFuzzer on every parser and rule, FOR=10 seconds each; TARGETS="rules ..." for some
	@FOR="$(FOR)" scripts/fuzz $(TARGETS)

# Each mutant is a build and a short exploration: hours. Names of files after domain/src for fewer.
decisions := tries orders confirm payments sales overlay rules book plan sale due \
    rejection projection deduction draw sessions lock lock/bounds lock/fence lock/line lock/lines
mutants: ## changes each decision and expects a test to fail, FILES="tries orders" for some; slow
	BRIEF=1 cargo mutants -p seckill-domain -o $(target)/mutants --minimum-test-timeout 60 \
	    $(foreach file,$(or $(FILES),$(decisions)),-f domain/src/$(file).rs)

memory: ## the integration tests with every server under valgrind, ARGS="hostile::" for some
	@scripts/memory $(ARGS)

# Options of one benchmark mean nothing to the other, but for --smoke.
bench: setup ## measures against the script and GET, and the worker; ARGS=--smoke is short
	cargo bench --bench side_by_side -- $(ARGS)
	$(if $(filter-out --smoke,$(ARGS)),,@$(MAKE) --no-print-directory bench-rows)

bench-rows: setup-test module ## the part of it that measures the worker
	SECKILL_MODULE=$(target)/release/libseckill.so \
	    cargo bench -p seckill-tools --bench rows -- $(ARGS)

bench-servers: setup ## the tries of it on several servers beside each other, NAMES="redis-8.10 ..."
	@scripts/bench-servers "$(NAMES)" $(ARGS)

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

release-check: module ## compares the version in all places, also as the module tells it
	@scripts/release-check $(target)/release/libseckill.so

package: ## a tarball and a .deb in target/package, each unpacked and tried
	@scripts/package

packages: ## a release, each file tried, PLATFORMS="aarch64 x86_64-musl" for some; as root
	@scripts/package release

reproducible: ## a release, built in two folders and compared, PROGRAMS=no for less; as root
	@scripts/package reproducible

apt-repository: ## a signed apt repository of the .debs in target/package, KEY=gpg's name of a key
	@scripts/apt-repository "$(KEY)"

apt-test: ## installs from such a repository by apt-get in a Debian of its own, and sells; as root
	@scripts/apt-test

pictures: ## draws the pictures of the documentation again, from docs/images/src
	@scripts/setup clients java-lettuce
	@scripts/pictures

images: ## builds the images, runs them as packaging/compose.yaml says, ARCHITECTURE=arm64 too; as root
	@scripts/images
	@scripts/images valkey

servers: ## obtains newer Redis and Valkey servers to test against and prints their paths
	@scripts/servers $(or $(NAMES),all)

functions: module ## the tests of the commands against the library of Redis Functions
	@scripts/functions

matrix: ## the integration tests on every server that can be had, NAMES="redis-8.10 ..." for some
	@scripts/matrix $(NAMES)

clients: setup ## the clients of every language against a server, NAMES="go python" for some
	@scripts/setup clients $(NAMES)
	cargo build --release -p seckill
	@examples/run $(NAMES)

# Another JDK than that of the path, if one is here, runs the tests on Spring Boot 4.
newest_java := $(lastword $(wildcard /usr/lib/jvm/temurin-*/bin/java))

# Tries on every server that `make servers` has obtained, too.
java: setup ## builds and tests the Java library and the Spring Boot starter of java/
	@scripts/setup clients java
	cargo build --release -p seckill
	SECKILL_MODULE=$(target)/release/libseckill.so mvn -B -ntp -f java/pom.xml \
	    $(addprefix -Dboot-4.java=,$(newest_java)) verify

bench-java: setup ## measures the Java client beside the script, and its locks beside Redisson's
	@scripts/setup clients java
	cargo build --release -p seckill
	SECKILL_MODULE=$(target)/release/libseckill.so \
	    mvn -B -q -f java/pom.xml -pl seckill-bench -am -DskipTests -P bench verify $(ARGS)
