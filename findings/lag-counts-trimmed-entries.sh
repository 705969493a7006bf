#!/usr/bin/env bash
# XINFO GROUPS' lag is "the number of entries that are still to be delivered to the group".
# Guess: it is 0 for a stream without entries, and for a group that has read the newest one.
# Seen on Redis 7.0 and Valkey 9.1: entries that were trimmed before the group read them count on, also when the stream
# is empty; on Redis 7.0 even when the group has read an entry behind them. Redis 8.10 counts only what is there.
. "$(dirname "$0")/common.sh"
lag() { say XINFO GROUPS orders | grep -o 'lag.*'; }
for case in "redis-7.0 8 8" "valkey-9.1 8 0" "redis-8.10 0 0"; do
    read -r name empty behind <<<"$case"
    start "$name"
    say XGROUP CREATE orders group 0 MKSTREAM >/dev/null
    for id in $(seq 10); do say XADD orders "$id-0" id "$id" >/dev/null; done
    say XREADGROUP GROUP group worker COUNT 2 STREAMS orders '>' >/dev/null
    say XTRIM orders MAXLEN 0 >/dev/null
    seen "an empty stream" "lag $empty" "$(lag)"
    say XADD orders 11-0 id 11 >/dev/null
    say XREADGROUP GROUP group worker STREAMS orders '>' >/dev/null
    seen "the newest entry is read" "lag $behind" "$(lag)"
done
verdict
