#!/usr/bin/env bash
# An append-only folder is to be checked before a start, or truncated to a point in time: valkey-check-aof of the same Valkey.
# Guess: what the server has written, and loads, is valid; --fix leaves it alone.
# Seen on Valkey 9.1.2 (not Redis 8.10.2): it takes the base, an RDB file that begins with VALKEY instead of REDIS since 9.0,
# for broken commands. A folder is "not valid", no truncation to a time is possible, and --fix of the base makes it empty: the
# server then starts with the keys written since the last rewrite. With aof-use-rdb-preamble no it works. The fix is proposed:
# https://github.com/valkey-io/valkey/pull/4739
. "$(dirname "$0")/common.sh"
made() { # server, preamble: a folder of 1,000 keys, and one written later
    start "$1" --appendonly yes --aof-use-rdb-preamble "$2" --aof-timestamp-enabled yes
    for key in $(seq 1000); do echo "SET $key v"; done | redis-cli -p "$port" >/dev/null
    say BGREWRITEAOF >/dev/null
    until grep -q 'seq 2 type b' "$folder/$port/appendonlydir/appendonly.aof.manifest"; do sleep 0.1; done
    say SET later v >/dev/null
    kill "${pids[-1]}"
    wait "${pids[-1]}" || true
    program=redis-server
    [ "$1" = redis-7.0 ] || program=$("$root/scripts/servers" "$1")
    # A server is the checker, too, if it is called so.
    ln -sf "$program" "$folder/${1%%-*}-check-aof"
    check=$folder/${1%%-*}-check-aof
    cd "$folder/$port/appendonlydir"
}
verdict_of() { # arguments of the checker
    if echo y | "$check" "$@" >"$folder/said" 2>&1; then echo valid; else grep -oE 'is not valid|not the last file' "$folder/said" | tail -n 1; fi
}
now=$(date +%s)
made redis-8.10 yes
seen "a folder of Redis" valid "$(verdict_of appendonly.aof.manifest)"
made valkey-9.1 no
seen "a folder of Valkey without RDB" valid "$(verdict_of appendonly.aof.manifest)"
made valkey-9.1 yes
seen "a folder of Valkey" "is not valid" "$(verdict_of appendonly.aof.manifest)"
seen "to a time" "is not valid" "$(verdict_of --truncate-to-timestamp "$now" appendonly.aof.manifest)"
seen "--fix of the folder" "not the last file" "$(verdict_of --fix appendonly.aof.manifest)"
base=$(ls *.base.rdb)
seen "--fix of the base" valid "$(verdict_of --fix "$base")"
seen "bytes that are left of the base" 0 "$(stat -c %s "$base")"
"$program" --port "$port" --bind 127.0.0.1 --dir "$folder/$port" --save "" --appendonly yes >"$folder/log" 2>&1 &
pids+=($!)
until [ "$(say PING 2>/dev/null)" = PONG ]; do kill -0 $! && sleep 0.1; done
seen "keys at the next start" 1 "$(say DBSIZE)"
verdict
