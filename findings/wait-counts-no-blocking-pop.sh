#!/usr/bin/env bash
# A worker takes a job by BLPOP, which waits until somebody pushes one, and then asks by WAIT on the same connection whether a
# replica has it: that the job is taken, so that no second worker gets it after a failover. The replica has stopped.
# Guess: WAIT counts the replicas that have the latest write of this connection, and the pop is one: 0.
# Seen with Redis 7.0.15 and 8.10.2, Valkey 9.1.2: 1. The pop is made in the turn of the client that pushes, and WAIT goes
# by what was replicated when the worker began to wait. After a pop that need not wait the answer is 0.
. "$(dirname "$0")/common.sh"
look() { # server
    start "$1"
    local primary=$port
    start "$1" --replicaof 127.0.0.1 "$primary"
    local replica=${pids[-1]}
    port=$primary
    until say INFO replication | grep -q state=online; do sleep 0.1; done
    say SET a b >/dev/null
    printf 'BLPOP jobs 0\nWAIT 1 500\n' | redis-cli -p "$port" >"$folder/worker" &
    local worker=$!
    until say INFO clients | grep -q blocked_clients:1; do sleep 0.1; done
    until [ "$(say INFO replication | grep -oE '(,|repl_)offset[=:][0-9]+' | grep -oE '[0-9]+' | sort -u | wc -l)" = 1 ]; do sleep 0.1; done
    kill -STOP "$replica"
    say RPUSH jobs one two >/dev/null
    wait "$worker"
    seen "a pop that waited, and replicas that have it" "jobs one 1" "$(tr '\n' ' ' <"$folder/worker" | sed 's/ *$//')"
    seen "a pop that need not wait" "jobs two 0" \
        "$(printf 'BLPOP jobs 0\nWAIT 1 500\n' | redis-cli -p "$port" | tr '\n' ' ' | sed 's/ *$//')"
    kill -CONT "$replica"
}
look redis-7.0
look redis-8.10
look valkey-9.1
verdict
