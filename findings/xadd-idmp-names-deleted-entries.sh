#!/usr/bin/env bash
# XADD ... IDMP producer id (Redis 8.6 and later) is meant for producers that repeat an XADD whose answer was lost.
# Guess: the answer to a repeat is an entry of the stream, and changing IDMP-MAXSIZE to a larger number forgets nothing.
# Seen on Redis 8.10: a repeat is answered with the id of an entry that was deleted or trimmed since, whatever the
# repeat's fields are, and nothing is appended; XCFGSET with another number forgets every id, so that the next repeat
# is appended as a second entry.
. "$(dirname "$0")/common.sh"
start redis-8.10
first=$(say XADD orders IDMP shop 1001 '*' id 1001)
say XTRIM orders MAXLEN 0 >/dev/null
seen "a repeat with other fields, after a trim, is answered by the first id" "$first" "$(say XADD orders IDMP shop 1001 '*' id 1002)"
seen "entries of the stream" 0 "$(say XLEN orders)"
seen "XCFGSET with the number that was there, then the repeat" "OK $first" \
    "$(say XCFGSET orders IDMP-MAXSIZE 100) $(say XADD orders IDMP shop 1001 '*' id 1001)"
say XCFGSET orders IDMP-MAXSIZE 200 >/dev/null
again=$(say XADD orders IDMP shop 1001 '*' id 1001)
seen "with a larger number, the repeat is a new entry" "yes, 1" "$([ "$again" != "$first" ] && echo yes || echo no), $(say XLEN orders)"
verdict
