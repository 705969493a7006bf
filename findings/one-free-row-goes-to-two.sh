#!/usr/bin/env bash
# A free prize code is taken in one statement: UPDATE .. WHERE code = (SELECT the first code that has no user).
# Guess: a second taker at the same time waits for the row, looks at it again, and takes the next one or none.
# Seen on PostgreSQL 15.18 at READ COMMITTED, its default, and on MariaDB 10.11.19 and MySQL 9.7.4 at READ COMMITTED: it
# waits, and takes the same code. Both are told that one row was changed, and the first user's name is gone. Only the
# row is looked at again, which still has that code; the inner SELECT is not run again. With FOR UPDATE in it, or at
# REPEATABLE READ of MariaDB and MySQL, the second takes the next code.
# Needs psql, postgres, mariadbd, mariadb-install-db and mariadb; `scripts/servers mysql-9` gets MySQL.
. "$(dirname "$0")/common.sh"
taken() { # name, level, words of the inner SELECT: who has the codes
    query "$1" <<<"DROP TABLE IF EXISTS shop.codes; CREATE TABLE shop.codes (code INT PRIMARY KEY, who VARCHAR(9));
        INSERT INTO shop.codes VALUES (1, NULL), (2, NULL)" 2>/dev/null
    local take="WHERE code = (SELECT code FROM (SELECT code FROM shop.codes WHERE who IS NULL ORDER BY code LIMIT 1 $3) AS free)"
    beside "$1" "$2" "UPDATE shop.codes SET who = 'ann' $take" "UPDATE shop.codes SET who = 'bob' $take"
    query "$1" <<<"SELECT code, COALESCE(who, 'nobody') FROM shop.codes ORDER BY code" | tr '\n\t' ', '
}
for name in postgres mariadb mysql; do
    "start_$name" $name
    query $name <<<"SELECT VERSION(); CREATE SCHEMA shop"
    seen "READ COMMITTED" "1 bob,2 nobody," "$(taken $name "READ COMMITTED" "")"
    seen "READ COMMITTED, with FOR UPDATE" "1 ann,2 bob," "$(taken $name "READ COMMITTED" "FOR UPDATE")"
    [ $name = postgres ] || seen "REPEATABLE READ" "1 ann,2 bob," "$(taken $name "REPEATABLE READ" "")"
done
verdict
