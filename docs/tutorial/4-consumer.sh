#!/usr/bin/env bash
# Step 4: a consumer dies with an order in its hands.
. "$(dirname "$0")/lib.sh"

# Makes a row of an order, once. The first consumer is killed at its third.
make_row() { # consumer order
    if [ "$1 $2" = "first order-3" ]; then kill -9 "$BASHPID"; fi
    grep -qx "$2" "$rows" || echo "$2" >>"$rows"
}

naive_consumer() { # name
    local order
    while order=$(redis RPOP orders) && [ -n "$order" ]; do make_row "$1" "$order"; done
}
for i in 1 2 3 4 5; do redis LPUSH orders "order-$i" >/dev/null; done
naive_consumer first & wait $! 2>/dev/null || true
naive_consumer second
echo "A list and RPOP: $(wc -l <"$rows") rows of 5 orders, order-3 is gone"

# Handles the one entry that a command replies. False when it replies none.
handle() { # consumer command ...
    local consumer=$1 reply
    mapfile -t reply < <(redis "${@:2}")
    # A line of its own, the id, then fields and values: userId, voucherId, id.
    local entry=${reply[1]-} order=${reply[7]-}
    if [ -z "$order" ]; then return 1; fi
    if [ "$order" = order-5 ]; then # say, the address is nowhere
        redis SECKILL.REJECT stream.orders shop "$entry" REASON "no address" >/dev/null
    else
        make_row "$consumer" "$order"
        redis XACK stream.orders shop "$entry" >/dev/null
    fi
}
consumer() { # name
    while handle "$1" XREADGROUP GROUP shop "$1" COUNT 1 STREAMS stream.orders '>'; do :; done
}
: >"$rows"
redis SET seckill:stock:phone 5 >/dev/null
redis XGROUP CREATE stream.orders shop 0 MKSTREAM >/dev/null
for i in 1 2 3 4 5; do redis SECKILL.TRY phone "user-$i" "order-$i" >/dev/null; done
consumer first & wait $! 2>/dev/null || true
consumer second
echo "A stream and a group: $(wc -l <"$rows") rows," \
    "$(redis XPENDING stream.orders shop | head -n 1) order pending"
while handle second XAUTOCLAIM stream.orders shop second 0 0 COUNT 1; do :; done
echo "  after XAUTOCLAIM: $(sort "$rows" | paste -sd ' ')"
echo "  order-5 can't be made, SECKILL.REJECT: $(redis XLEN stream.orders.dlq) dead letter," \
    "stock $(redis GET seckill:stock:phone)"
