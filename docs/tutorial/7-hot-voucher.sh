#!/usr/bin/env bash
# Step 7: everybody wants one voucher, whose keys are on one core of one server.
. "$(dirname "$0")/lib.sh"

if [ -n "${REDIS_CLI:-}" ] && [ -z "${REDIS_BENCHMARK:-}" ]; then
    echo 'tutorial: say REDIS_BENCHMARK too: "redis-benchmark -p 6379 --dbnum 9"' >&2
    exit 1
fi

cpu_ms() {
    redis INFO cpu | tr -d '\r' |
        awk -F: '/^used_cpu_(user|sys):/ { sum += $2 } END { printf "%d", sum * 1000 }'
}
# Server CPU of 200,000 tries on a voucher that is sold out, in ms.
cost() { # command ...
    local before
    before=$(cpu_ms)
    ${REDIS_BENCHMARK:-redis-benchmark} -e -q -P 50 -n 200000 "$@" >/dev/null
    echo $(($(cpu_ms) - before))
}
script=$(redis SCRIPT LOAD "$(cat "$(dirname "$0")/../../tools/benches/side_by_side/scripts/seckill.lua")")
redis SET seckill:stock:phone 0 >/dev/null
by_script=$(cost EVALSHA "$script" 0 phone alice order-1)
by_command=$(cost SECKILL.TRY phone alice order-1)
echo "200,000 tries that lose: the script $by_script ms of CPU, SECKILL.TRY $by_command ms"

# CRC16 as Redis Cluster has it, of an id of ASCII.
crc16() {
    local crc=0 byte i bit
    for ((i = 0; i < ${#1}; i++)); do
        printf -v byte %d "'${1:i:1}"
        ((crc ^= byte << 8, 1))
        for ((bit = 0; bit < 8; bit++)); do
            crc=$(((crc & 0x8000 ? (crc << 1) ^ 0x1021 : crc << 1) & 0xffff))
        done
    done
    echo "$crc"
}
shards=4
for ((shard = 0; shard < shards; shard++)); do
    redis SET "seckill:stock:phone#$shard" 10 >/dev/null
done
# Two tries each of 100 users, all at the shard of their user.
for user in {1..100} {1..100}; do
    echo "SECKILL.TRY phone#$(($(crc16 "user-$user") % shards)) user-$user order-$user"
done | redis >"$answers"
echo "40 units on 4 shards, 100 users, two tries each: $(count 0 "$answers") accepted"
for ((shard = 0; shard < shards; shard++)); do
    echo "  phone#$shard: $(redis SCARD "seckill:order:phone#$shard") users have bought," \
        "stock $(redis GET "seckill:stock:phone#$shard")"
done
