#!/usr/bin/env bash
# 30 entries are pending: 29 of a consumer that works on them now, and the last one of a consumer that died an hour ago. Another
# looks for entries to take over: XAUTOCLAIM orders group me 60000 0 COUNT 2.
# Guess: COUNT limits the answer, so it has the dead consumer's entry; an empty one means that there is none.
# Seen on Redis 7.0.15, 8.10.2 and Valkey 9.1.2: it is empty, and its cursor is not 0-0. COUNT 2 looks at 20 entries, ten times
# as many, and whoever begins at 0 each time never gets the rest: with the default, 100, none behind 1,000 that are worked on.
. "$(dirname "$0")/common.sh"
for name in redis-7.0 redis-8.10 valkey-9.1; do
    start "$name"
    say XGROUP CREATE orders group 0 MKSTREAM >/dev/null
    for id in $(seq 30); do echo "XADD orders $id-0 id $id"; done | redis-cli -p "$port" >/dev/null
    say XREADGROUP GROUP group alive COUNT 30 STREAMS orders '>' >/dev/null
    say XCLAIM orders group dead 0 30-0 IDLE 3600000 >/dev/null
    for _ in 1 2; do
        seen "from 0" 21-0 "$(say XAUTOCLAIM orders group me 60000 0 COUNT 2 JUSTID)"
    done
    seen "from the cursor" "0-0 30-0" "$(say XAUTOCLAIM orders group me 60000 21-0 COUNT 2 JUSTID)"
done
verdict
