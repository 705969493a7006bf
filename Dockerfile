# A server with the module, and the programs of tools/:
#
#     docker build -t redis-seckill .
#     docker build -t valkey-seckill --build-arg SERVER=valkey/valkey:9.1-trixie .
#
# The module is built on a Debian that is no newer than that of the server's image: it runs with its
# C library or a newer one.
ARG SERVER=redis:8.2-bookworm

FROM rust:1.88-bookworm AS build
# hadolint ignore=DL3008
RUN apt-get update \
    && apt-get install -y --no-install-recommends libclang-dev \
    && rm -rf /var/lib/apt/lists/*
WORKDIR /src
COPY . .
RUN cargo build --release --locked -p seckill -p seckill-tools \
    && mkdir -p /out/bin \
    && strip --strip-debug -o /out/libseckill.so target/release/libseckill.so \
    && find target/release -maxdepth 1 -name 'seckill-*' -type f -perm -u+x \
        -exec cp {} /out/bin/ ';' \
    && strip --strip-all /out/bin/*

# The server's version is the argument's.
# hadolint ignore=DL3006
FROM ${SERVER}
COPY --from=build /out/libseckill.so /usr/lib/redis/modules/libseckill.so
COPY --from=build /out/bin/ /usr/local/bin/
COPY packaging/seckill.conf /etc/redis/seckill.conf
# Where the worker of compose.yaml puts its rows: a volume begins as what the image has there, and
# 999 is who the server runs as in both images.
RUN mkdir /rows && chown 999:999 /rows
# The images of Redis and of Valkey both start their own server for a first word that ends in .conf,
# as a user without rights and in /data.
CMD ["/etc/redis/seckill.conf", "--appendonly", "yes"]
