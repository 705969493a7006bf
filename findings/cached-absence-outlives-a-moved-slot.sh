#!/usr/bin/env bash
# A client caches two answers of a node of a cluster (CLIENT TRACKING): the value of a key, and that another key does not exist. Then the
# slot of both moves to another node, where the other key is written.
# Guess: the client is told to forget both, when the slot leaves at the latest: the new node knows nothing of the cache.
# Seen on Redis 7.0.15 (key by key), 8.10.2 and Valkey 9.1.2 (whole): it is told so of the key that leaves. Of the one that was not there
# nobody ever tells it, so "not there" stays cached for as long as the client asks nothing of this slot.
. "$(dirname "$0")/common.sh"
at_target() { redis-cli -p "$target" "$@"; }
for name in redis-7.0 redis-8.10 valkey-9.1; do
    start_pair "$name"
    slot=$(say CLUSTER KEYSLOT '{b}')
    source=$(say CLUSTER MYID) node=$(at_target CLUSTER MYID)
    say SET '{b}there' 1 >/dev/null
    exec 3<>"/dev/tcp/127.0.0.1/$port"
    { timeout 60 cat <&3 || true; } >"$folder/heard" &
    pids+=($!)
    printf 'HELLO 3\r\nCLIENT TRACKING ON\r\nMGET {b}there {b}missing\r\n' >&3
    until grep -q '^_' "$folder/heard"; do sleep 0.05; done
    case $name in
    redis-7.0)
        at_target CLUSTER SETSLOT "$slot" IMPORTING "$source" >/dev/null
        say CLUSTER SETSLOT "$slot" MIGRATING "$node" >/dev/null
        say MIGRATE 127.0.0.1 "$target" '{b}there' 0 5000 >/dev/null
        at_target CLUSTER SETSLOT "$slot" NODE "$node" >/dev/null
        say CLUSTER SETSLOT "$slot" NODE "$node" >/dev/null
        ;;
    redis-8.10) at_target CLUSTER MIGRATION IMPORT "$slot" "$slot" >/dev/null ;;
    *) say CLUSTER MIGRATESLOTS SLOTSRANGE "$slot" "$slot" NODE "$node" >/dev/null ;;
    esac
    until [ "$(at_target SET '{b}missing' 1)" = OK ]; do sleep 0.1; done
    until [[ $(say GET '{b}there') == MOVED* ]]; do sleep 0.1; done
    sleep 2
    seen "told to forget" '{b}there' "$(tr -d '\r' <"$folder/heard" | grep -A3 invalidate | grep -o '{b}.*' | tr '\n' ' ' | sed 's/ $//')"
    exec 3>&-
done
verdict
