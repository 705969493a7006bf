#!/usr/bin/env bash
# MULTI on a server that has reached maxmemory, to look at a stream and read a group in one step.
# Guess: only what may need memory is refused, as outside of a transaction: reads, XREADGROUP, XACK and DEL are carried out.
# Seen on Redis 7.0.15: every command is refused while it is queued, PING too, and EXEC discards the transaction. One
# after the other they are carried out. On Redis 8.10.2 and Valkey 9.1.2 they are carried out in a transaction, too.
. "$(dirname "$0")/common.sh"
fate() { # of what it reads
    grep -q OOM && echo refused || echo "carried out"
}
for name in redis-7.0 redis-8.10 valkey-9.1; do
    start "$name"
    say XADD orders 1-0 id 1 >/dev/null
    say XGROUP CREATE orders group 0 >/dev/null
    say CONFIG SET maxmemory 1 >/dev/null
    queued="carried out"
    [ "$name" != redis-7.0 ] || queued=refused
    seen SET refused "$(say SET a b | fate)"
    while read -r command; do
        seen "$command" "carried out" "$(redis-cli -p "$port" <<<"$command" | fate)"
        seen "$command, in MULTI" "$queued" "$(printf 'MULTI\n%s\nEXEC\n' "$command" | redis-cli -p "$port" | fate)"
    done <<'CASES'
XINFO STREAM orders
XREADGROUP GROUP group me COUNT 1 STREAMS orders >
XACK orders group 1-0
DEL orders
PING
CASES
done
verdict
