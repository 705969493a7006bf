#!/usr/bin/env bash
# A stock is taken by INCREX ... LBOUND 0 SATURATE, which gives a buyer of five the two that are left. It is sold out by then.
# Guess: a decrement that is answered "by 0" changes nothing, as one without SATURATE that is refused.
# Seen on Redis 8.10.2: it is written like any other. Each one goes to the append-only file and the replicas as a SET, aborts
# the transactions of clients that watch the stock, and invalidates it in every client-side cache; with EX it moves the end of
# the key. Without SATURATE the same request does none of that. In a flash sale nearly all requests are such ones.
. "$(dirname "$0")/common.sh"
start redis-8.10 --appendonly yes --auto-aof-rewrite-percentage 0 --appendfsync always
aof=$folder/$port/appendonlydir/appendonly.aof.1.incr.aof
# What becomes of the transaction of a client that watches the stock meanwhile.
watched() { # command
    {
        printf 'WATCH stock\nMULTI\nPING\n'
        until [ -e "$folder/done" ]; do sleep 0.05; done
        printf 'EXEC\n'
    } | redis-cli -p "$port" >"$folder/replies" &
    until grep -qs QUEUED "$folder/replies"; do sleep 0.05; done
    say "$@" >/dev/null
    touch "$folder/done"
    wait $!
    case $(tail -n 1 "$folder/replies") in PONG) echo executed ;; *) echo aborted ;; esac
    rm "$folder/done" "$folder/replies"
}
refused() { seen "$1" "0 0" "$(say INCREX stock BYINT -5 LBOUND 0 "${@:2}")"; }
size() { stat -c %s "$aof"; }
is_beyond() { [ "$(say TTL stock)" -gt 1000 ] && echo yes || echo no; }
say SET stock 2 EX 1000 >/dev/null
seen "five of two" "0 -2" "$(say INCREX stock BYINT -5 LBOUND 0 SATURATE)"
before=$(size)
refused "five of none" EX 5000
seen "written then" 0 "$(($(size) - before))"
seen "does the key end later" no "$(is_beyond)"
seen "a transaction beside one" executed "$(watched INCREX stock BYINT -5 LBOUND 0)"
refused "five of none, with SATURATE" SATURATE EX 5000
written=$(tr -d '\r' <"$aof" | tail -n 10 | grep -v '^[*$]' | head -n 4)
seen "written then" "SET stock 0 PXAT" "${written//$'\n'/ }"
seen "does the key end later" yes "$(is_beyond)"
seen "a transaction beside one" aborted "$(watched INCREX stock BYINT -5 LBOUND 0 SATURATE)"
verdict
