#!/usr/bin/env bash
# PgBouncer in transaction mode, in front of PostgreSQL; two clients try the same advisory lock, pg_try_advisory_lock(7).
# Guess: it does not work at all there, so an error; or the second is refused.
# Seen with PgBouncer 1.18.0 and PostgreSQL 15.18: both are told that they have it, since they are lent the same connection, whose
# lock it is. After both have left, the lock stays with that connection, and a third, who is lent another one, is
# refused. pg_try_advisory_xact_lock, within a transaction, works.
# Needs psql, postgres and pgbouncer.
. "$(dirname "$0")/common.sh"
tcp=$((20000 + RANDOM % 12000))
start_postgres postgres $tcp
query postgres <<<"SELECT VERSION()"
start_pgbouncer
client() { "${pooled[@]}"; }
try() { # statements of one whose connection stays open, statements of another: what both are told
    : >"$folder/first"
    exec 3> >(client >"$folder/first" 2>&1)
    local first=$!
    echo "$1; SELECT 'done';" >&3
    until grep -q done "$folder/first"; do sleep 0.05; done
    echo "$(head -1 "$folder/first") $(client <<<"$2" | head -1)"
    exec 3>&-
    wait "$first"
}
seen "a lock of a transaction" "t f" "$(try "BEGIN; SELECT pg_try_advisory_xact_lock(8)" "BEGIN; SELECT pg_try_advisory_xact_lock(8); COMMIT")"
seen "a lock" "t t" "$(try "SELECT pg_try_advisory_lock(7)" "SELECT pg_try_advisory_lock(7)")"
seen "locks after both have left" 1 "$(query postgres <<<"SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'")"
seen "another, while the connection is lent" "1 f" "$(try "BEGIN; SELECT 1" "SELECT pg_try_advisory_lock(7)")"
verdict
