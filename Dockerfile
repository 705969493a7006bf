# A server with the module, and beside it an image of the programs of tools/:
#
#     docker build -t redis-seckill .
#     docker build -t valkey-seckill --build-arg SERVER=valkey/valkey:9.1-trixie .
#     docker build -t seckill-tools --target tools .
#
# For x86-64 and arm64, both at once by --platform linux/amd64,linux/arm64 of docker buildx.
#
# What is built is built on a Debian that is no newer than those of the images: it runs with their C
# library or a newer one.
ARG SERVER=redis:8.2-bookworm

# On the machine that builds, for the machine of the image: nothing is emulated.
FROM --platform=$BUILDPLATFORM rust:1.88-bookworm AS build
ARG TARGETARCH
ENV CARGO_TARGET_X86_64_UNKNOWN_LINUX_GNU_LINKER=x86_64-linux-gnu-gcc \
    CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER=aarch64-linux-gnu-gcc
# hadolint ignore=DL3008,SC2086
RUN here=$(dpkg --print-architecture) \
    && case "${TARGETARCH:-$here}" in \
        amd64) machine=x86_64 cross="gcc-x86-64-linux-gnu libc6-dev-amd64-cross" ;; \
        arm64) machine=aarch64 cross="gcc-aarch64-linux-gnu libc6-dev-arm64-cross" ;; \
        *) echo "there is no image for $TARGETARCH" >&2 && exit 1 ;; \
    esac \
    && if [ "${TARGETARCH:-$here}" = "$here" ]; then cross=""; \
        else rustup target add "$machine-unknown-linux-gnu"; fi \
    && echo "$machine" >/machine \
    && apt-get update \
    && apt-get install -y --no-install-recommends libclang-dev $cross \
    && rm -rf /var/lib/apt/lists/*
WORKDIR /src
COPY . .
RUN machine=$(cat /machine) && target=$machine-unknown-linux-gnu && made=target/$target/release \
    && cargo build --release --locked --target "$target" -p seckill -p seckill-tools \
    && mkdir -p /out/bin /out/state/seckill \
    && "$machine-linux-gnu-strip" --strip-debug -o /out/libseckill.so "$made/libseckill.so" \
    && find "$made" -maxdepth 1 -name 'seckill-*' -type f -perm -u+x -exec cp {} /out/bin/ ';' \
    && "$machine-linux-gnu-strip" --strip-all /out/bin/*

# Nothing is run in the stages below, so they need no machine of their kind. 999 is who the server
# runs as in the images of Redis and of Valkey.
FROM debian:bookworm-slim AS tools
COPY --from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/ca-certificates.crt
COPY --from=build /out/bin/ /usr/local/bin/
# Where a worker has its SQLite file, if it is told of no other database: a volume begins as what
# the image has there.
COPY --from=build --chown=999:999 /out/state/ /var/lib/
USER 999:999
WORKDIR /var/lib/seckill
CMD ["seckill-top", "--help"]

# The server's version is the argument's.
# hadolint ignore=DL3006
FROM ${SERVER} AS server
COPY --from=build /out/libseckill.so /usr/lib/redis/modules/libseckill.so
COPY packaging/seckill.conf /etc/redis/seckill.conf
USER 999:999
# The images of Redis and of Valkey both start their own server for a first word that ends in .conf,
# in /data.
CMD ["/etc/redis/seckill.conf", "--appendonly", "yes"]
