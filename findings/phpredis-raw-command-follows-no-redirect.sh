#!/usr/bin/env bash
# phpredis' RedisCluster follows MOVED and ASK for the commands that it knows; rawCommand takes the key that finds the
# node as its first argument.
# Guess: rawCommand follows redirects as get and set do.
# Seen with phpredis 5.3.7 of Debian 12: while a slot moves, set of a key that is at the target works, and rawCommand of the same SET
# fails with "Unable to send command to the specified node".
. "$(dirname "$0")/common.sh"
php -m | grep -qx redis || { echo "needs php-cli and php-redis"; exit 2; }
start_pair redis-7.0
slot=$(say CLUSTER KEYSLOT '{b}key')
redis-cli -p "$target" CLUSTER SETSLOT "$slot" IMPORTING "$(say CLUSTER MYID)" >/dev/null
say CLUSTER SETSLOT "$slot" MIGRATING "$(redis-cli -p "$target" CLUSTER MYID)" >/dev/null
cat >"$folder/probe.php" <<'PHP'
<?php
$cluster = new RedisCluster(null, ["127.0.0.1:$argv[1]"], 5, 5);
try {
    var_export($argv[2] === 'set' ? $cluster->set('{b}key', 'v') : $cluster->rawCommand('{b}key', 'SET', '{b}key', 'v'));
} catch (Exception $e) {
    echo $e->getMessage();
}
PHP
seen "phpredis" 5.3.7 "$(php -r 'echo phpversion("redis");')"
seen "set" true "$(php "$folder/probe.php" "$port" set)"
seen "rawCommand" "Unable to send command to the specified node" "$(php "$folder/probe.php" "$port" raw)"
verdict
