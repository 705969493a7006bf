#!/usr/bin/env bash
# A slot moves to another node, key by key, and a client that reads from replicas (READONLY) asks for two keys of it, of which
# one has moved.
# Guess: the replica answers as its primary does: TRYAGAIN for both, ASK for the one that has moved.
# Seen: a replica of Redis knows nothing of the move. It answers nil for the key that has moved, and counts one of two: half of
# what belongs together, without an error. A replica of Valkey 9.1.2 answers as its primary.
. "$(dirname "$0")/common.sh"
read_only() { printf 'READONLY\n%s\n' "$*" | redis-cli -p "$replica" | tail -n +2 | cut -d' ' -f1 | tr '\n' ',' | sed 's/,*$//'; }
for name in redis-7.0 redis-8.10 valkey-9.1; do
    start_pair "$name"
    source=$port
    start "$name" --cluster-enabled yes --repl-diskless-sync-delay 0
    replica=$port port=$source
    redis-cli -p "$replica" CLUSTER MEET 127.0.0.1 "$source" >/dev/null
    until redis-cli -p "$replica" CLUSTER REPLICATE "$(say CLUSTER MYID)" 2>/dev/null | grep -q OK; do sleep 0.2; done
    slot=$(say CLUSTER KEYSLOT '{b}')
    say MSET '{b}stock' 5 '{b}sold' 2 >/dev/null
    until [ "$(read_only GET '{b}stock')" = 5 ]; do sleep 0.2; done
    redis-cli -p "$target" CLUSTER SETSLOT "$slot" IMPORTING "$(say CLUSTER MYID)" >/dev/null
    say CLUSTER SETSLOT "$slot" MIGRATING "$(redis-cli -p "$target" CLUSTER MYID)" >/dev/null
    say MIGRATE 127.0.0.1 "$target" '{b}stock' 0 5000 >/dev/null
    until [ "$(read_only GET '{b}stock')" != 5 ]; do sleep 0.2; done
    one='' both=,2 count=1
    [ "$name" != valkey-9.1 ] || one=ASK both=TRYAGAIN count=TRYAGAIN
    seen "the primary of both" TRYAGAIN "$(say MGET '{b}stock' '{b}sold' | cut -d' ' -f1 | tr -d '\n')"
    seen "the replica of the one that has moved" "$one" "$(read_only GET '{b}stock')"
    seen "the replica of both" "$both" "$(read_only MGET '{b}stock' '{b}sold')"
    seen "how many of them the replica has" "$count" "$(read_only EXISTS '{b}stock' '{b}sold')"
done
verdict
