#!/usr/bin/env bash
# Redis 8.4 and Valkey 9 move slots whole, from the source's memory into the target's.
# Guess: a subscriber of keyspace events at the target hears one event for each key that arrives, as on MIGRATE.
# Seen: Redis 8.10 announces a stream that arrives as one `restore`. Valkey 9.1 replays it: an `xadd` for each entry, `xsetid`,
# and `xgroup-createconsumer` for each consumer, all before the target owns the slot. A program that counts `xadd` as
# new orders counts every old order again.
. "$(dirname "$0")/common.sh"
events() { grep -oE "keyevent@0__:[a-z-]+" "$folder/$1" | cut -d: -f2 | sort | uniq -c | awk '{ printf "%s%s %s", s, $1, $2; s = ", " }'; }
for name in redis-8.10 valkey-9.1; do
    start_pair "$name" --notify-keyspace-events KEA
    source=$port
    slot=$(say CLUSTER KEYSLOT '{b}orders')
    say XGROUP CREATE '{b}orders' group 0 MKSTREAM >/dev/null
    for id in 1 2 3 4 5; do say XADD '{b}orders' "$id-0" id "$id" >/dev/null; done
    say XREADGROUP GROUP group worker STREAMS '{b}orders' '>' >/dev/null
    redis-cli -p "$target" PSUBSCRIBE '__keyevent*' >"$folder/events" &
    pids+=($!)
    until grep -q psubscribe "$folder/events"; do sleep 0.05; done
    port=$target
    node=$(say CLUSTER MYID)
    if [ "$name" = redis-8.10 ]; then
        say CLUSTER MIGRATION IMPORT "$slot" "$slot" >/dev/null
    else
        redis-cli -p "$source" CLUSTER MIGRATESLOTS SLOTSRANGE "$slot" "$slot" NODE "$node" >/dev/null
    fi
    until [[ $(say XLEN '{b}orders') == 5 ]]; do sleep 0.1; done
    sleep 0.3
    case $name in
    redis-*) seen "events at the target" "1 restore" "$(events events)" ;;
    *) seen "events at the target" "5 xadd, 1 xgroup-create, 1 xgroup-createconsumer, 1 xsetid" "$(events events)" ;;
    esac
done
verdict
