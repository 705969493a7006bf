#!/usr/bin/env bash
# XREADGROUP ... CLAIM min-idle (Redis 8.4 and later) reads new entries and takes over idle ones in one command.
# Guess: as XAUTOCLAIM, it takes pending entries that were deleted off the list, and names them.
# Seen on Redis 8.10: it passes over them without a word. They stay pending for the consumer that died, with every call,
# and with lag 0 nothing shows them but XPENDING. XAUTOCLAIM beside it names the entry once and removes it.
. "$(dirname "$0")/common.sh"
start redis-8.10
say XGROUP CREATE orders group 0 MKSTREAM >/dev/null
for id in 1 2 3; do say XADD orders $id-0 id $id >/dev/null; done
say XREADGROUP GROUP group dead STREAMS orders '>' >/dev/null
say XDEL orders 2-0 >/dev/null
sleep 0.05
reply=$(say XREADGROUP GROUP group alive CLAIM 10 STREAMS orders '>')
seen "ids that CLAIM returned" "1-0 3-0" "$(grep -oE '[0-9]+-0' <<<"$reply" | tr '\n' ' ' | sed 's/ $//')"
sleep 0.05
say XREADGROUP GROUP group alive CLAIM 10 STREAMS orders '>' >/dev/null
seen "pending of the dead consumer" "2-0 dead" "$(say XPENDING orders group - + 9 dead | cut -d' ' -f1,2)"
seen "lag" "lag 0" "$(say XINFO GROUPS orders | grep -o 'lag.*')"
seen "XAUTOCLAIM names it" "3-0  2-0" \
    "$(say XAUTOCLAIM orders group alive 10 2-0 COUNT 1 JUSTID)"
seen "and it is gone" "" "$(say XPENDING orders group - + 9 dead)"
verdict
