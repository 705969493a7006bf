#!/usr/bin/env bash
# Files of Valkey 9 are refused by Redis ("Wrong signature trying to load DB from file").
# Guess: so a Redis can't be a replica of a Valkey 9 either, and a sale can't be moved back to Redis.
# Seen: Redis 8.6 and 8.10 replicate from Valkey 9.1.2, with streams, groups and pending entries, since Valkey sends
# a replica that does not ask for more a file of RDB version 11. The other direction is refused.
. "$(dirname "$0")/common.sh"
linked() { for _ in $(seq 60); do say INFO replication | grep -q master_link_status:up && { echo up; return; }; sleep 0.1; done; echo down; }
start valkey-9.1 --repl-diskless-sync-delay 0
valkey=$port
say XGROUP CREATE orders group 0 MKSTREAM >/dev/null
say XADD orders 1-0 id 1 >/dev/null
say XREADGROUP GROUP group worker STREAMS orders '>' >/dev/null
for name in redis-8.6 redis-8.10; do
    start "$name" --replicaof "127.0.0.1 $valkey"
    seen "$name as a replica of Valkey" up "$(linked)"
    seen "what is pending there" "1 1-0 1-0 worker 1" "$(say XPENDING orders group)"
done
redis=$port
say REPLICAOF NO ONE >/dev/null
say CONFIG SET repl-diskless-sync-delay 0 >/dev/null
start valkey-9.1 --replicaof "127.0.0.1 $redis"
seen "Valkey as a replica of Redis 8.10" down "$(linked)"
verdict
