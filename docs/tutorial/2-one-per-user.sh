#!/usr/bin/env bash
# Step 2: one user, ten clicks. Looking whether they have bought is no lock on it.
. "$(dirname "$0")/lib.sh"

naive_click() {
    local has_bought
    has_bought=$(redis SISMEMBER buyers alice)
    meanwhile
    if [ "$has_bought" = 0 ]; then
        redis DECR stock >/dev/null
        redis SADD buyers alice >/dev/null
        redis XADD orders '*' user alice >/dev/null
    fi
}
redis SET stock 100 >/dev/null
at_once 10 naive_click
echo "SISMEMBER, then SADD: alice has $(redis XLEN orders) orders"

click() { redis SECKILL.TRY phone alice "order-$1" >>"$answers"; }
redis SET seckill:stock:phone 100 >/dev/null
at_once 10 click
echo "SECKILL.TRY: alice has $(redis XLEN stream.orders) order," \
    "$(count 0 "$answers") accepted, $(count 2 "$answers") at the limit"
