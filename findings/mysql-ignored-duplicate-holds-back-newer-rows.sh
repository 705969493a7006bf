#!/usr/bin/env bash
# A transaction inserts an order with a new id whose second unique key exists: INSERT IGNORE passes over it, and nothing is
# stored.
# Guess: at most the row that was there already, and the gap before it, is locked until the transaction ends: others insert
# newer orders, which are far from both.
# Seen on MySQL 9.7.4 at REPEATABLE READ, its default: the place of the row that was not stored stays locked too. An id
# above all others is at the end of the table, so every newer order waits (1205), after ON DUPLICATE KEY UPDATE and
# after a plain INSERT that failed as well. At READ COMMITTED none waits, nor on MariaDB 10.11.19.
# Needs mariadbd, mariadb-install-db and mariadb (Debian's mariadb-server); `scripts/servers mysql-9` gets MySQL.
. "$(dirname "$0")/common.sh"
newer() { # name, level, statement: what another session is told that inserts a newer order, while the first is not committed
    query "$1" <<<"DROP TABLE IF EXISTS shop.o;
        CREATE TABLE shop.o (id INT PRIMARY KEY, user INT, UNIQUE (user)); INSERT INTO shop.o VALUES (1, 1), (2, 2), (3, 3)"
    local said=$folder/said
    : >"$said"
    exec 3> >(query "$1" --force --unbuffered >"$said" 2>&1)
    local holder=$!
    echo "SET TRANSACTION ISOLATION LEVEL $2; BEGIN; $3; SELECT 'held', COUNT(*) FROM shop.o;" >&3
    until grep -q held "$said"; do sleep 0.05; done
    query "$1" 2>&1 <<<"SET innodb_lock_wait_timeout = 1; INSERT INTO shop.o VALUES (20, 20); SELECT 'stored'" |
        grep -oE 'ERROR [0-9]+|stored' | tail -1 || true
    exec 3>&-
    wait "$holder" || true
}
for name in mariadb mysql; do
    "start_$name" $name
    query $name <<<"SELECT VERSION(); CREATE DATABASE shop"
    for level in "REPEATABLE READ" "READ COMMITTED"; do
        expected=stored
        [ "$name $level" != "mysql REPEATABLE READ" ] || expected="ERROR 1205"
        for statement in "INSERT IGNORE INTO shop.o VALUES (8, 2)" "INSERT INTO shop.o VALUES (8, 2)" \
            "INSERT INTO shop.o VALUES (8, 2) ON DUPLICATE KEY UPDATE user = user"; do
            seen "a newer order after $statement, $level" "$expected" "$(newer $name "$level" "$statement")"
        done
    done
done
verdict
