#!/usr/bin/env bash
# A slot that moves key by key is handed over by CLUSTER SETSLOT NODE, at the target first, so that it always has an owner.
# Guess: the source refuses that while it has a key of the slot ("I still hold keys"), so a key that was forgotten is
# safe: it is moved, and the command is given again.
# Seen: the refusal is there for as long as the target's claim is on its way. Then the source deletes the key, without
# a word to a client, and says OK: the key is on no node. How long that takes is a matter of a heartbeat.
. "$(dirname "$0")/common.sh"
at() { redis-cli -p "$@" | tr '\n' ' ' | sed 's/ *$//'; }
for name in redis-7.0 redis-8.10 valkey-9.1; do
    start_pair "$name"
    source=$port
    slot=$(say CLUSTER KEYSLOT '{b}')
    node=$(at "$target" CLUSTER MYID)
    say SET '{b}stock' 5 >/dev/null
    say XADD '{b}orders' 1-0 id 1 >/dev/null
    at "$target" CLUSTER SETSLOT "$slot" IMPORTING "$(say CLUSTER MYID)" >/dev/null
    say CLUSTER SETSLOT "$slot" MIGRATING "$node" >/dev/null
    say MIGRATE 127.0.0.1 "$target" '{b}stock' 0 5000 >/dev/null
    refused=$(say CLUSTER SETSLOT "$slot" NODE "$node")
    seen "handed over with a key at the source, before the target has it" \
        "ERR Can't assign hashslot $slot to a different node while I still hold keys for this hash slot." "$refused"
    at "$target" CLUSTER SETSLOT "$slot" NODE "$node" >/dev/null
    for _ in $(seq 100); do [ "$(say CLUSTER COUNTKEYSINSLOT "$slot")" != 0 ] || break; sleep 0.1; done
    seen "keys of the slot at the source, once the target has claimed it" 0 "$(say CLUSTER COUNTKEYSINSLOT "$slot")"
    seen "the same command at the source" OK "$(say CLUSTER SETSLOT "$slot" NODE "$node")"
    seen "keys of the slot at the target" "{b}stock" "$(at "$target" CLUSTER GETKEYSINSLOT "$slot" 10)"
done
verdict
