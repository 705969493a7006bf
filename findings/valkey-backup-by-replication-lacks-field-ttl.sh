#!/usr/bin/env bash
# `redis-cli --rdb` and `valkey-cli --rdb` take a backup as a replica would; BGSAVE writes "the same file".
# Guess: both work, or neither.
# Seen on Valkey 9.1: as soon as one hash of any database has a field with a time to live, --rdb fails with an error that names no
# reason, and SAVE works. A client that asks for no newer version is sent RDB version 11, which has no such fields.
. "$(dirname "$0")/common.sh"
start valkey-9.1 --repl-diskless-sync-delay 0
backup() { redis-cli -p "$port" --rdb "$folder/$1" >/dev/null 2>&1 && echo works || echo fails; }
say HSET cart f 1 g 2 >/dev/null
seen "--rdb" works "$(backup a)"
seen "the file is of the version that Redis 7 writes too" REDIS0011 "$(head -c 9 "$folder/a")"
say HEXPIRE cart 1000 FIELDS 1 f >/dev/null
seen "--rdb, with one field that expires" fails "$(backup b)"
seen "SAVE" OK "$(say SAVE)"
seen "its file is of another version" VALKEY080 "$(head -c 9 "$folder/$port/dump.rdb")"
verdict
