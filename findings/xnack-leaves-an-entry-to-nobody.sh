#!/usr/bin/env bash
# XNACK (Redis 8.8 and later) gives a read entry back to its group.
# Guess: the entry is delivered again to the next reader, belongs to its last consumer until then, and its counts are
# those of deliveries.
# Seen on Redis 8.10: it stays pending for a consumer whose name is empty, idle for -1 ms, so the counts of all
# consumers add up to less than the group's; a plain `>` never delivers it; XAUTOCLAIM and CLAIM take it at once,
# however long an idle time they ask for. FATAL makes its delivery count 9223372036854775807, and leaves it
# deliverable.
. "$(dirname "$0")/common.sh"
start redis-8.10
say XGROUP CREATE orders group 0 MKSTREAM >/dev/null
for id in 1 2; do say XADD orders $id-0 id $id >/dev/null; done
say XREADGROUP GROUP group worker STREAMS orders '>' >/dev/null
seen "given back" 1 "$(say XNACK orders group FATAL IDS 1 1-0)"
seen "pending" "1-0  -1 9223372036854775807" "$(say XPENDING orders group - + 1)"
seen "pending of the group, and of its only consumer" "pending 2, pending 1" \
    "$(say XINFO GROUPS orders | grep -oE 'pending [0-9]+'), $(say XINFO CONSUMERS orders group | grep -oE 'pending [0-9]+')"
seen "what a reader of new entries gets" "" "$(say XREADGROUP GROUP group other STREAMS orders '>')"
seen "XAUTOCLAIM of what is idle for ten minutes" "0-0 1-0" "$(say XAUTOCLAIM orders group other 600000 0 JUSTID)"
verdict
