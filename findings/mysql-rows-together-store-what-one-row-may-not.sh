#!/usr/bin/env bash
# INSERT of a NULL into a NOT NULL column, without strict mode.
# Guess: rows that are inserted together are refused or changed as they are one by one.
# Seen on MariaDB 10.11.19 and MySQL 9.7.4: one row is refused (1048); in an INSERT of several rows it is stored as '' (or
# 0), with a warning. So whatever joins INSERTs, such as rewriteBatchedStatements of Connector/J, changes what is stored.
# Needs mariadbd, mariadb-install-db and mariadb (Debian's mariadb-server); `scripts/servers mysql-9` gets MySQL.
. "$(dirname "$0")/common.sh"
for name in mariadb mysql; do
    "start_$name" $name
    query $name <<<"SELECT VERSION(); CREATE DATABASE shop; CREATE TABLE shop.o (id INT, ref VARCHAR(9) NOT NULL)"
    query $name <<<"SET sql_mode = ''; INSERT INTO shop.o VALUES (1, NULL)" >"$folder/said" 2>&1 || true
    seen "one row" "ERROR 1048" "$(grep -o 'ERROR [0-9]*' "$folder/said")"
    said=$(query $name <<<"SET sql_mode = ''; INSERT INTO shop.o VALUES (2, 'r'), (3, NULL); SHOW WARNINGS")
    seen "two rows" "Warning 1048" "$(cut -f1,2 <<<"$said" | tr '\t' ' ')"
    seen "what is stored" "2 [r], 3 []" \
        "$(query $name <<<"SELECT GROUP_CONCAT(id, ' [', ref, ']' ORDER BY id SEPARATOR ', ') FROM shop.o")"
done
verdict
