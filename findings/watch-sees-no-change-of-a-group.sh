#!/usr/bin/env bash
# WATCH of a stream, then EXEC, to acknowledge or take over an entry only if nobody else has done so meanwhile.
# Guess: EXEC is aborted after any write to the stream by another client, as for every other type.
# Seen on Redis 7.0.15, 8.10.2 and Valkey 9.1.2: XACK, XREADGROUP, XCLAIM, XAUTOCLAIM, XSETID and each XGROUP command
# pass unseen, also where they are replicated and have an event; even a group that was destroyed. Only what changes
# entries aborts.
. "$(dirname "$0")/common.sh"
exec_after() { # a command of another client, once WATCH was answered
    { echo WATCH orders; until grep -q OK "$folder/said"; do sleep 0.02; done
        say "$@" >/dev/null; printf 'MULTI\nPING\nEXEC\n'; } | redis-cli -p "$port" >"$folder/said"
    grep -q PONG "$folder/said" && echo "carried out" || echo aborted
}
for name in redis-7.0 redis-8.10 valkey-9.1; do
    start "$name"
    say XGROUP CREATE orders group 0 MKSTREAM >/dev/null
    for id in 1 2 3 4; do say XADD orders "$id-0" id "$id" >/dev/null; done
    while read -r expected command; do
        : >"$folder/said"
        read -ra words <<<"$command"
        seen "$command" "${expected/-/ }" "$(exec_after "${words[@]}" </dev/null)"
    done <<'CASES'
carried-out XREADGROUP GROUP group me COUNT 2 STREAMS orders >
carried-out XCLAIM orders group other 0 1-0
carried-out XAUTOCLAIM orders group other 0 0
carried-out XACK orders group 1-0
carried-out XGROUP SETID orders group 0
carried-out XGROUP DELCONSUMER orders group other
carried-out XGROUP DESTROY orders group
carried-out XGROUP CREATE orders group 0
carried-out XSETID orders 9-0
aborted XDEL orders 1-0
aborted XTRIM orders MAXLEN 1
aborted XADD orders 10-0 id 10
CASES
done
verdict
