#!/usr/bin/env bash
# A group is set back by XGROUP SETID, so that its orders are read again, while its consumers wait in XREADGROUP with BLOCK.
# Guess: the consumers get the old entries at once, as they get new ones.
# Seen on Redis 7.0.15, 8.10.2 and Valkey 9.1.2: none wakes. One with BLOCK 0 waits for the next XADD, after a sale for ever,
# and a lag of 2 stays. Who reads anew gets them.
. "$(dirname "$0")/common.sh"
for name in redis-7.0 redis-8.10 valkey-9.1; do
    start "$name"
    for id in 1 2; do say XADD orders "$id-0" id "$id" >/dev/null; done
    say XGROUP CREATE orders group '$' >/dev/null
    redis-cli -p "$port" XREADGROUP GROUP group me BLOCK 0 STREAMS orders '>' >"$folder/read" &
    reader=$!
    until say INFO clients | grep -q 'blocked_clients:1'; do sleep 0.05; done
    say XGROUP SETID orders group 0 >/dev/null
    sleep 3
    seen "clients that wait three seconds after SETID" 1 "$(say INFO clients | grep -oE 'blocked_clients:[0-9]+' | cut -d: -f2)"
    seen "entries that it has read" 0 "$(grep -c -- -0 "$folder/read" || true)"
    seen "lag" 2 "$(say XINFO GROUPS orders | grep -oE 'lag [0-9]+' | cut -d' ' -f2)"
    say XADD orders 3-0 id 3 >/dev/null
    wait $reader
    seen "entries that it has read after an XADD" 3 "$(grep -c -- -0 "$folder/read")"
done
verdict
