#!/usr/bin/env bash
# XREAD BLOCK of two streams; a transaction adds an entry to each.
# Guess: the reader that waits is given both entries, as a reader is that does not have to wait.
# Seen on Redis 7.0.15: it is given only that of the stream that was written first, whatever the order of its own words;
# so is a consumer of a group. On Redis 8.10.2 and Valkey 9.1.2 it is given both.
. "$(dirname "$0")/common.sh"
told() { # words of a read that waits, while a transaction writes b, then a
    local reader
    say DEL a b >/dev/null
    for stream in a b; do say XGROUP CREATE "$stream" group 0 MKSTREAM >/dev/null; done
    say "$@" >"$folder/told" &
    reader=$!
    until say INFO clients | grep -q blocked_clients:1; do sleep 0.05; done
    printf 'MULTI\nXADD b 1-0 id 1\nXADD a 1-0 id 1\nEXEC\n' | redis-cli -p "$port" >/dev/null
    wait "$reader"
    cat "$folder/told"
}
both="a 1-0 id 1 b 1-0 id 1"
while read -r name waited; do
    start "$name"
    seen "a reader that waits" "$waited" "$(told XREAD BLOCK 0 STREAMS a b 0 0)"
    seen "a consumer that waits" "$waited" "$(told XREADGROUP GROUP group me BLOCK 0 STREAMS a b '>' '>')"
    seen "a reader that does not wait" "$both" "$(say XREAD STREAMS a b 0 0)"
done <<CASES
redis-7.0 b 1-0 id 1
redis-8.10 $both
valkey-9.1 $both
CASES
verdict
