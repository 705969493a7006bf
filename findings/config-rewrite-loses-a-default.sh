#!/usr/bin/env bash
# A file that redis.conf includes says maxmemory-policy allkeys-lru. An operator sets noeviction in the running server, and
# CONFIG REWRITE is answered OK.
# Guess: the next start has noeviction, as it would have any other policy that was set so.
# Seen on Redis 7.0.15, 8.10.2 and Valkey 9.1.2: it has allkeys-lru again. CONFIG REWRITE writes no value that is the default
# of the server, and the included line, which stays, wins. It does write volatile-lru, which is no default, and so that wins.
# To be a primary is a default, too: a replica whose replicaof line is in an included file is promoted, the configuration is
# written, and at the next start the server is a replica of the old primary again and drops all that it took as a primary.
. "$(dirname "$0")/common.sh"
run() {
    "$program" "$folder/redis.conf" >"$folder/log" 2>&1 &
    pids+=($!)
    until [ "$(say PING 2>/dev/null)" = PONG ]; do kill -0 $! && sleep 0.1; done
}
stop() { kill -9 "${pids[-1]}" && wait "${pids[-1]}" 2>/dev/null || true; }
until_synced() { until say INFO replication | grep -q master_link_status:up; do sleep 0.1; done; }
policy() { say CONFIG GET maxmemory-policy | cut -d' ' -f2; }
for name in redis-7.0 redis-8.10 valkey-9.1; do
    program=redis-server
    [ "$name" = redis-7.0 ] || program=$("$root/scripts/servers" "$name")
    "$program" --version | cut -d' ' -f1-3
    for set in noeviction volatile-lru; do
        port=$((20000 + RANDOM % 12000))
        echo "maxmemory-policy allkeys-lru" >"$folder/included.conf"
        printf 'port %s\nbind 127.0.0.1\nsave ""\ninclude %s/included.conf\n' "$port" "$folder" >"$folder/redis.conf"
        run
        seen "policy at the start" allkeys-lru "$(policy)"
        say CONFIG SET maxmemory-policy "$set" >/dev/null
        seen "CONFIG REWRITE with $set" "OK" "$(say CONFIG REWRITE)"
        stop
        run
        case $set in noeviction) then=allkeys-lru ;; *) then=$set ;; esac
        seen "policy at the next start" "$then" "$(policy)"
        stop
    done
    start "$name" >/dev/null
    old=$port
    say SET key old >/dev/null
    port=$((20000 + RANDOM % 12000))
    mkdir "$folder/$port"
    echo "replicaof 127.0.0.1 $old" >"$folder/included.conf"
    printf 'port %s\nbind 127.0.0.1\ndir %s\nappendonly yes\ninclude %s/included.conf\n' \
        "$port" "$folder/$port" "$folder" >"$folder/redis.conf"
    run
    until_synced
    say REPLICAOF NO ONE >/dev/null
    seen "CONFIG REWRITE of a server that was promoted" OK "$(say CONFIG REWRITE)"
    say SET key new >/dev/null
    seen "its data" new "$(say GET key)"
    say SHUTDOWN >/dev/null
    wait "${pids[-1]}" || true
    run
    until_synced
    seen "role at the next start" slave "$(say ROLE | cut -d' ' -f1)"
    seen "its data" old "$(say GET key)"
    stop
done
verdict
