#!/usr/bin/env bash
# A shop may read all of its keys and write those of its orders: %R~shop:* and %W~shop:orders:*.
# Guess: it may do with the keys of its orders what it likes, since it may both read and write them.
# Seen on Redis 7.0.15, 8.10.2 and Valkey 9.1.2: GET, SET, DEL and SADD are allowed there, and INCR, SET with GET and a script
# that names the key are not. What reads and writes in one step needs one pattern with both rights; two patterns are not added,
# unless they are the same text. So are two selectors, in which each key of a command is allowed by one of them only.
. "$(dirname "$0")/common.sh"
may() { # user, command
    case $(say --user "$1" --pass secret --no-auth-warning "${@:2}") in NOPERM*) echo refused ;; *) echo allowed ;; esac
}
for name in redis-7.0 redis-8.10 valkey-9.1; do
    start "$name"
    say ACL SETUSER shop on '>secret' '%R~shop:*' '%W~shop:orders:*' +@all >/dev/null
    for command in "SET shop:orders:n 5" "GET shop:orders:n" "DEL shop:orders:n" "SADD shop:orders:s a"; do
        seen "$command" allowed "$(may shop $command)"
    done
    for command in "INCR shop:orders:n" "SET shop:orders:n 7 GET"; do
        seen "$command" refused "$(may shop $command)"
    done
    seen "EVAL of nothing, with the key" refused "$(may shop EVAL 'return 1' 1 shop:orders:n)"
    say ACL SETUSER shop '%R~shop:orders:*' >/dev/null
    seen "INCR, both rights by the same pattern" allowed "$(may shop INCR shop:orders:n)"
    say ACL SETUSER two on '>secret' '(~first +mget)' '(~second +mget)' >/dev/null
    for keys in first second; do seen "MGET $keys" allowed "$(may two MGET $keys)"; done
    seen "MGET of both, each in a selector" refused "$(may two MGET first second)"
done
verdict
