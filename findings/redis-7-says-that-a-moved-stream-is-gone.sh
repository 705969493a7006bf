#!/usr/bin/env bash
# A consumer waits in XREADGROUP with BLOCK while the slot of its stream moves to another node, key by key; or its stream is
# deleted.
# Guess: it is told ASK or MOVED, as everybody who asks then, and NOGROUP if the stream is deleted.
# Seen on Redis 7.0.15: UNBLOCKED, "the stream key no longer exists", both times, though the stream is at the other node. Who
# makes its group anew only at NOGROUP ends with an error. Redis 8.10.2 and Valkey 9.1.2 say ASK and NOGROUP.
. "$(dirname "$0")/common.sh"
waits() { # until it waits
    : >"$folder/read"
    redis-cli -p "$port" XREADGROUP GROUP group me BLOCK 0 STREAMS '{b}orders' '>' >"$folder/read" &
    until say INFO clients | grep -q 'blocked_clients:1'; do sleep 0.05; done
}
told() { until [ -s "$folder/read" ]; do sleep 0.05; done; head -n 1 "$folder/read" | cut -d' ' -f1; }
for name in redis-7.0 redis-8.10 valkey-9.1; do
    start_pair "$name"
    gone=NOGROUP moved=ASK
    [ "$name" != redis-7.0 ] || gone=UNBLOCKED moved=UNBLOCKED
    slot=$(say CLUSTER KEYSLOT '{b}orders')
    say XGROUP CREATE '{b}orders' group 0 MKSTREAM >/dev/null
    waits
    say DEL '{b}orders' >/dev/null
    seen "told when the stream is deleted" $gone "$(told)"
    say XGROUP CREATE '{b}orders' group 0 MKSTREAM >/dev/null
    waits
    redis-cli -p "$target" CLUSTER SETSLOT "$slot" IMPORTING "$(say CLUSTER MYID)" >/dev/null
    say CLUSTER SETSLOT "$slot" MIGRATING "$(redis-cli -p "$target" CLUSTER MYID)" >/dev/null
    say MIGRATE 127.0.0.1 "$target" '{b}orders' 0 9000 >/dev/null
    seen "told when it moves" $moved "$(told)"
    seen "told who asks then" ASK "$(say XREADGROUP GROUP group me STREAMS '{b}orders' '>' | cut -d' ' -f1)"
done
verdict
