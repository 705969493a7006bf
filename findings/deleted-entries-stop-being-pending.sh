#!/usr/bin/env bash
# An entry is deleted while a consumer has it. It stays pending, and XAUTOCLAIM names it once, so a consumer can count what
# was lost.
# Guess: that is part of the data, and comes along with a file or with the slot of the stream.
# Seen: in an RDB file, and in Redis' move of a slot (8.10.2), it does. In an append-only file that BGREWRITEAOF wrote with
# `aof-use-rdb-preamble no` (Redis 7.0.15, 8.10.2, Valkey 9.1.2), and in Valkey's move of a slot (9.1.2), it does not:
# the entry is pending no more, and XAUTOCLAIM names nothing.
. "$(dirname "$0")/common.sh"
fill() { # three entries are read, and the second is deleted
    say XGROUP CREATE '{b}orders' group 0 MKSTREAM >/dev/null
    for id in 1 2 3; do say XADD '{b}orders' "$id-0" id "$id" >/dev/null; done
    say XREADGROUP GROUP group me STREAMS '{b}orders' '>' >/dev/null
    say XDEL '{b}orders' 2-0 >/dev/null
}
named() { say XAUTOCLAIM '{b}orders' group other 0 0 JUSTID; }
arrived() { until [ "$(say XLEN '{b}orders')" = 2 ]; do sleep 0.1; done; }
for name in redis-7.0 redis-8.10 valkey-9.1; do
    for preamble in yes no; do
        start "$name" --appendonly yes --aof-use-rdb-preamble "$preamble"
        fill
        say BGREWRITEAOF >/dev/null
        until say INFO persistence | grep -q 'aof_rewrite_in_progress:0.*aof_rewrite_scheduled:0'; do sleep 0.1; done
        written=$folder/$port
        redis-cli -p "$port" SHUTDOWN NOSAVE >/dev/null
        start "$name" --appendonly yes --dir "$written"
        arrived
        expected="0-0 1-0 3-0 2-0"
        [ "$preamble" = yes ] || expected="0-0 1-0 3-0"
        seen "XAUTOCLAIM after a rewrite, aof-use-rdb-preamble $preamble" "$expected" "$(named | tr -s ' ')"
    done
done
for name in redis-8.10 valkey-9.1; do
    start_pair "$name"
    fill
    slot=$(say CLUSTER KEYSLOT '{b}orders')
    source=$port port=$target expected="0-0 1-0 3-0 2-0"
    if [ "$name" = redis-8.10 ]; then
        say CLUSTER MIGRATION IMPORT "$slot" "$slot" >/dev/null
    else
        expected="0-0 1-0 3-0"
        redis-cli -p "$source" CLUSTER MIGRATESLOTS SLOTSRANGE "$slot" "$slot" NODE "$(say CLUSTER MYID)" >/dev/null
    fi
    arrived
    seen "XAUTOCLAIM after the slot has moved" "$expected" "$(named | tr -s ' ')"
done
verdict
