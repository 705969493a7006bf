#!/usr/bin/env bash
# A repair deletes the row of a stock and inserts it again, in one transaction. An UPDATE of this row by its primary key
# comes before the commit and waits for it.
# Guess: the row is there before and after, so the UPDATE changes it, or fails.
# Seen on PostgreSQL 15.18 at READ COMMITTED, its default: it changes 0 rows, and a SELECT in the same transaction shows
# the row. A consumer takes that for sold out, or for an order that does not exist. SELECT .. FOR UPDATE finds no row
# either. After an UPDATE that moves the key away and back it is found. MariaDB 10.11.19 and MySQL 9.7.4 change it.
# Needs psql, postgres, mariadbd, mariadb-install-db and mariadb; `scripts/servers mysql-9` gets MySQL.
. "$(dirname "$0")/common.sh"
anew="DELETE FROM shop.stock WHERE id = 7; INSERT INTO shop.stock VALUES (7, 100)"
away="UPDATE shop.stock SET id = 8 WHERE id = 7; UPDATE shop.stock SET id = 7 WHERE id = 8"
stock() { query "$1" <<<"DROP TABLE IF EXISTS shop.stock; CREATE TABLE shop.stock (id INT PRIMARY KEY, units INT);
    INSERT INTO shop.stock VALUES (7, 5)" 2>/dev/null; }
for name in postgres mariadb mysql; do
    "start_$name" $name
    query $name <<<"SELECT VERSION(); CREATE SCHEMA shop"
    for first in "$anew" "$away"; do
        stock $name
        changed_rows="; SELECT ROW_COUNT()" expected=1
        if [ $name = postgres ]; then
            changed_rows=" RETURNING 1"
            [ "$first" != "$anew" ] || expected=none
        fi
        told=$(beside $name "READ COMMITTED" "$first" "UPDATE shop.stock SET units = units - 1 WHERE id = 7$changed_rows")
        seen "rows that an UPDATE changed, beside ${first:0:6}" "$expected" "${told:-none}"
    done
    stock $name
    expected="100,100"
    [ $name != postgres ] || expected=100
    seen "units, by a SELECT FOR UPDATE beside DELETE and INSERT, then by a SELECT" "$expected" \
        "$(beside $name "READ COMMITTED" "$anew" "SELECT units FROM shop.stock WHERE id = 7 FOR UPDATE;
            SELECT units FROM shop.stock WHERE id = 7")"
done
verdict
