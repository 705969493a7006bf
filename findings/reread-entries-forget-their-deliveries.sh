#!/usr/bin/env bash
# A consumer reads what is pending for it again, by XREADGROUP with the id 0, and the server counts each delivery.
# Guess: XREADGROUP is a write, and a replica counts as its master does; so a limit of deliveries holds after a failover.
# Seen on Redis 7.0.15, 8.10.2 and Valkey 9.1.2: such a reading is replicated nowhere, neither to replicas nor to the
# append-only file. The master says 5 deliveries, its replica 1, and the master itself says 1 after a restart. What
# XCLAIM counts is replicated, with all that was counted before.
. "$(dirname "$0")/common.sh"
counts() { redis-cli -p "$1" XPENDING orders group - + 9 | awk 'NR % 4 == 0' | tr '\n' ' '; }
for name in redis-7.0 redis-8.10 valkey-9.1; do
    start "$name" --appendonly yes --repl-diskless-sync-delay 0
    master=$port
    start "$name" --replicaof "127.0.0.1 $master"
    replica=$port port=$master
    until redis-cli -p "$replica" INFO replication | grep -q master_link_status:up; do sleep 0.1; done
    say XGROUP CREATE orders group 0 MKSTREAM >/dev/null
    for id in 1 2; do say XADD orders "$id-0" id "$id" >/dev/null; done
    say XREADGROUP GROUP group me STREAMS orders '>' >/dev/null
    for _ in 1 2 3 4; do say XREADGROUP GROUP group me STREAMS orders 0 >/dev/null; done
    say WAIT 1 9000 >/dev/null
    seen "deliveries of two entries, read again four times, at the master" "5 5 " "$(counts "$port")"
    seen "at the replica" "1 1 " "$(counts "$replica")"
    say XCLAIM orders group me 0 2-0 >/dev/null
    say WAIT 1 9000 >/dev/null
    seen "at the replica, after an XCLAIM of the second" "1 6 " "$(counts "$replica")"
    redis-cli -p "$port" SHUTDOWN NOSAVE >/dev/null
    start "$name" --appendonly yes --dir "$folder/$master"
    until [ "$(say EXISTS orders)" = 1 ]; do sleep 0.1; done
    seen "of the master's file" "1 6 " "$(counts "$port")"
done
verdict
