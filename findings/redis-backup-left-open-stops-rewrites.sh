#!/usr/bin/env bash
# Redis 8.10 copies its append-only file while it runs: BACKUP START, then SEAL, then CLEANUP. The program that asked for it dies
# before SEAL, or the server restarts in between.
# Guess: a backup that nobody seals ends by itself, and one that is sealed is still known after a restart.
# Seen on Redis 8.10.2: while it is open no rewrite begins, not the automatic one at 100 % either, and BGREWRITEAOF is only
# scheduled, so the file grows without a bound; no setting ends it. After a restart the server knows of no backup, neither of an
# open one nor of one that is sealed (LIST is empty), and refuses the next START until CLEANUP, which deletes the files.
. "$(dirname "$0")/common.sh"
state() { say BACKUP STATUS | cut -d' ' -f2; }
persistence() { say INFO persistence | tr -d '\r' | grep -o "\b$1:[0-9]*" | cut -d: -f2; }
until_state() { until [ "$(state)" = "$1" ]; do sleep 0.1; done; }
again() { # the server of the same folder and port, after SIGKILL
    kill -9 "${pids[-1]}"
    wait "${pids[-1]}" 2>/dev/null || true
    "$program" --port "$port" --bind 127.0.0.1 --dir "$folder/$port" --save "" "${words[@]}" >>"$folder/$port/log" 2>&1 &
    pids+=($!)
    until [ "$(say PING 2>/dev/null)" = PONG ]; do sleep 0.1; done
}
words=(--appendonly yes --auto-aof-rewrite-percentage 100 --auto-aof-rewrite-min-size 64kb)
program=$("$root/scripts/servers" redis-8.10)
start redis-8.10 "${words[@]}"
say BACKUP START >/dev/null
until_state incrementing
before=$(persistence aof_rewrites)
value=$(head -c 10000 /dev/zero | tr '\0' x)
for _ in $(seq 300); do echo "SET key $value"; done | redis-cli -p "$port" >/dev/null
seen "BGREWRITEAOF" "Background append only file rewriting scheduled" "$(say BGREWRITEAOF)"
sleep 3
seen "rewrites in three seconds" 0 "$(($(persistence aof_rewrites) - before))"
size=$(persistence aof_current_size)
seen "file of three megabytes for one value of ten kilobytes" yes "$([ "$size" -gt 3000000 ] && echo yes)"
say BACKUP SEAL >/dev/null
until [ "$(persistence aof_current_size)" -lt 100000 ]; do sleep 0.1; done
seen "state once it is sealed, and rewritten" sealed "$(state)"
seen "files" 3 "$(say BACKUP LIST | wc -w)"
again
seen "state after a restart" idle "$(state)"
seen "files that it lists" "" "$(say BACKUP LIST)"
seen "files that are there" 3 "$(find "$folder/$port/backupdir" -type f | wc -l)"
seen "START" "ERR Backup directory backupdir is not empty, CLEANUP it first" "$(say BACKUP START)"
seen "CLEANUP" OK "$(say BACKUP CLEANUP)"
seen "files that are there" 0 "$(find "$folder/$port/backupdir" -type f | wc -l)"
say BACKUP START >/dev/null
until_state incrementing
again
seen "state after a restart of an open one" idle "$(state)"
seen "SEAL" "ERR No backup ready to seal (must be in the incrementing state)" "$(say BACKUP SEAL)"
verdict
