#!/usr/bin/env bash
# Valkey 9 has several databases in a cluster (cluster-databases). CLUSTER MIGRATESLOTS moves a slot with all of them while clients go on
# writing: here to one database, until the slot has left, beside others that have a key of the slot.
# Guess: the target has each write that was answered where it was made, as a replica has.
# Seen on Valkey 9.1.2: writes to database 0 after the copy are carried out in the last database that was copied, up to the first
# write to another one. Writes to other databases arrive where they were made, and those to database 0 if only that has keys of the
# slot.
. "$(dirname "$0")/common.sh"
# Where the increments are that were answered.
move_under_writes() { # database that is written, databases that have the key before
    local database answered there elsewhere=0 slot
    start_pair valkey-9.1 --cluster-databases 16 >/dev/null
    slot=$(say CLUSTER KEYSLOT '{b}n')
    for database in "${@:2}"; do say -n "$database" SET '{b}n' 0 >/dev/null; done
    : >"$folder/answers"
    { yes 'INCR {b}n' || true; } | head -200000 | redis-cli -p "$port" -n "$1" >"$folder/answers" 2>&1 &
    until [ "$(wc -l <"$folder/answers")" -gt 500 ]; do sleep 0.02; done
    say CLUSTER MIGRATESLOTS SLOTSRANGE "$slot" "$slot" NODE "$(redis-cli -p "$target" CLUSTER MYID)" >/dev/null
    wait $!
    grep -q MOVED "$folder/answers"
    answered=$(grep -Ex '[0-9]+' "$folder/answers" | tail -1)
    there=$(redis-cli -p "$target" -n "$1" GET '{b}n')
    for database in "${@:2}"; do
        [ "$database" = "$1" ] || elsewhere=$((elsewhere + $(redis-cli -p "$target" -n "$database" GET '{b}n')))
    done
    found="all where they were made"
    [ "$elsewhere" = 0 ] || found="some in another database"
    [ "$answered" = $((there + elsewhere)) ] || found="$answered answered, $there there, $elsewhere elsewhere"
}
while read -r expected written databases; do
    read -ra databases <<<"$databases"
    move_under_writes "$written" "${databases[@]}"
    seen "database $written is written, keys in ${databases[*]}" "${expected//-/ }" "$found"
done <<'CASES'
all-where-they-were-made 0 0
all-where-they-were-made 5 0 5
all-where-they-were-made 3 0 3 5
some-in-another-database 0 0 5
CASES
verdict
