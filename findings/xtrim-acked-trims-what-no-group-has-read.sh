#!/usr/bin/env bash
# XADD .. MAXLEN n ACKED of Redis 8.2 and newer trims only entries that all groups have acknowledged. A shop appends orders so,
# before its consumer has made its group; or the consumer of a pending order is deleted.
# Guess: an order that nobody has acknowledged stays, whatever MAXLEN says.
# Seen on Redis 8.10.2: without a group all orders beyond MAXLEN are trimmed, and a group that is made from 0 reads the rest
# only. XGROUP DELCONSUMER makes what is pending for that consumer acknowledged, and the next XADD trims it. What the
# group has not read yet stays.
. "$(dirname "$0")/common.sh"
start redis-8.10
orders() { for id in $(seq "$1" "$2"); do say XADD orders MAXLEN = 2 ACKED "$id-0" id "$id" >/dev/null; done; }
read_all() { say XREADGROUP GROUP group "$1" STREAMS orders '>' | grep -oE '[0-9]+-0' | tr '\n' ' '; }
orders 1 5
say XGROUP CREATE orders group 0 >/dev/null
seen "orders that a group reads, which was made after five" "4-0 5-0 " "$(read_all me)"
orders 6 9
seen "orders that it reads after four more" "6-0 7-0 8-0 9-0 " "$(read_all me)"
seen "orders, none of which is acknowledged" 6 "$(say XLEN orders)"
seen "pending orders of the consumer that is deleted" 6 "$(say XGROUP DELCONSUMER orders group me)"
orders 10 10
seen "orders after the next XADD" 2 "$(say XLEN orders)"
verdict
