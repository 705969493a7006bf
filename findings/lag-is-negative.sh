#!/usr/bin/env bash
# A group is made with ENTRIESREAD, as the documentation says of groups that skip some, and the stream has fewer entries by
# then: it was deleted in between and made anew by MKSTREAM.
# Guess: the server keeps entries-read to what was ever added, or refuses it; a lag is a count, at least 0.
# Seen: Redis 8.10.2 keeps it to 0, and Valkey 9.1.2 takes 30 and forgets it with the next read. Redis 7.0.15 takes 30,
# counts on, and its lag is -30. A client that reads lags as unsigned numbers fails there.
. "$(dirname "$0")/common.sh"
look() { # server, entries-read and lag after one entry was read
    start "$1"
    say XGROUP CREATE stream group 0 MKSTREAM ENTRIESREAD 30 >/dev/null
    say XADD stream '*' a b >/dev/null
    say XREADGROUP GROUP group me COUNT 1 STREAMS stream '>' >/dev/null
    seen "what it says of the group" "$2" "$(say XINFO GROUPS stream | grep -o 'entries-read.*')"
}
look redis-7.0 "entries-read 31 lag -30"
look redis-8.10 "entries-read 1 lag 0"
look valkey-9.1 "entries-read 1 lag 0"
verdict
