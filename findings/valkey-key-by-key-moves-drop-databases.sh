#!/usr/bin/env bash
# Valkey 9 has several databases in a cluster (cluster-databases). A slot is moved key by key with CLUSTER GETKEYSINSLOT, MIGRATE and
# CLUSTER SETSLOT ... NODE, as redis-cli --cluster reshard does.
# Guess: GETKEYSINSLOT names the keys of every database, or SETSLOT refuses while some are left, as it does where the
# source still has keys of the selected database.
# Seen on Valkey 9.1.2: GETKEYSINSLOT and COUNTKEYSINSLOT see the selected database only, the source answers SETSLOT
# with OK, and what was left in the others is deleted at once. CLUSTER MIGRATESLOTS takes every database along.
. "$(dirname "$0")/common.sh"
start_pair valkey-9.1 --cluster-databases 16
slot=$(say CLUSTER KEYSLOT '{b}key')
say SET '{b}key' here >/dev/null
say -n 5 SET '{b}key' five >/dev/null
redis-cli -p "$target" CLUSTER SETSLOT "$slot" IMPORTING "$(say CLUSTER MYID)" >/dev/null
say CLUSTER SETSLOT "$slot" MIGRATING "$(redis-cli -p "$target" CLUSTER MYID)" >/dev/null
seen "keys of the slot, in two databases" 1 "$(say CLUSTER COUNTKEYSINSLOT "$slot")"
say MIGRATE 127.0.0.1 "$target" '{b}key' 0 5000 >/dev/null
seen "keys of the slot, as the source sees them" 0 "$(say CLUSTER COUNTKEYSINSLOT "$slot")"
seen "that of database 5 at the source" five "$(say -n 5 GET '{b}key')"
node=$(redis-cli -p "$target" CLUSTER MYID)
seen "the target takes the slot" OK "$(redis-cli -p "$target" CLUSTER SETSLOT "$slot" NODE "$node")"
seen "the source gives it" OK "$(say CLUSTER SETSLOT "$slot" NODE "$node")"
seen "database 5 at the source" "db0:0 db5:0" "db0:$(say -n 0 DBSIZE) db5:$(say -n 5 DBSIZE)"
seen "database 5 at the target" "" "$(redis-cli -p "$target" -n 5 GET '{b}key')"
seen "database 0 at the target" here "$(redis-cli -p "$target" GET '{b}key')"
verdict
