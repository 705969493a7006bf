#!/usr/bin/env bash
# A server's own file includes another one, which defines a user, as files of packages and of deployments do. Somebody sends
# CONFIG REWRITE, or a Sentinel does, which sends it to each server whose role it changes.
# Guess: the server writes what has changed, and starts from its file as before; the included file has the user already.
# Seen with Redis 7.0.15 and 8.10.2, Valkey 9.1.2: it writes all users into its own file and keeps the include line. It
# answers OK, runs on, and does not start again, months later perhaps. Lines that load modules are written again likewise.
. "$(dirname "$0")/common.sh"
look() { # server
    local program=redis-server own=$folder/$1
    [ "$1" = redis-7.0 ] || program=$("$root/scripts/servers" "$1")
    "$program" --version | cut -d' ' -f1-3
    mkdir "$own"
    echo 'user shop on nopass ~* +get' >"$own/included.conf"
    printf '%s\n' 'port 0' "unixsocket $own/socket" "dir $own" 'save ""' "include $own/included.conf" >"$own/own.conf"
    "$program" "$own/own.conf" >"$own/log" 2>&1 &
    pids+=($!)
    local server=$!
    until [ "$(redis-cli -s "$own/socket" PING 2>/dev/null)" = PONG ]; do sleep 0.1; done
    seen "CONFIG REWRITE" OK "$(redis-cli -s "$own/socket" CONFIG REWRITE)"
    kill "$server"
    wait "$server" || true
    seen "definitions of the user in both files" 2 "$(cat "$own"/*.conf | grep -c '^user shop ')"
    local status=0
    timeout 10 "$program" "$own/own.conf" >"$own/again" 2>&1 || status=$?
    seen "the next start" "ends with 1: Duplicate user found" "ends with $status: $(grep -o 'Duplicate user found' "$own/again")"
}
look redis-7.0
look redis-8.10
look valkey-9.1
verdict
