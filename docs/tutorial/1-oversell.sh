#!/usr/bin/env bash
# Step 1: 20 buyers, 5 units. Looking first and taking then sells what nobody has.
. "$(dirname "$0")/lib.sh"

naive_buyer() {
    local left
    left=$(redis GET stock)
    meanwhile
    if [ "$left" -gt 0 ]; then
        redis DECR stock >/dev/null
        redis XADD orders '*' user "$1" >/dev/null
    fi
}
redis SET stock 5 >/dev/null
at_once 20 naive_buyer
echo "GET, then DECR: $(redis XLEN orders) orders for 5 units, stock $(redis GET stock)"

buyer() { redis SECKILL.TRY phone "user-$1" "order-$1" >>"$answers"; }
redis SET seckill:stock:phone 5 >/dev/null
at_once 20 buyer
echo "SECKILL.TRY: $(redis XLEN stream.orders) orders for 5 units," \
    "stock $(redis GET seckill:stock:phone)," \
    "$(count 0 "$answers") accepted, $(count 1 "$answers") sold out"
