#!/usr/bin/env bash
# An order takes its number from the database: nextval of PostgreSQL, an AUTO_INCREMENT or NEXT VALUE FOR of MariaDB. It sends the
# number on, to a payment or to a stream, before its transaction commits. The database crashes.
# Guess: the order is lost, its number is not handed out again: sequences are outside of transactions, and leave gaps.
# Seen on PostgreSQL 15.18 and MariaDB 10.11.19, durable as they come: later orders get the same numbers. That a sequence went on is
# in the log, which is flushed when something commits, or a second later with MariaDB. There NEXT VALUE FOR alone, with
# autocommit, waits for no flush either. Send a number on when its row is committed, or take a random one.
# It is a race with that flush, so each has five attempts. Needs psql, postgres, mariadbd, mariadb-install-db and mariadb.
. "$(dirname "$0")/common.sh"
start_postgres postgres
start_mariadb mariadb
query postgres <<<"CREATE SEQUENCE numbers"
query mariadb <<<"CREATE DATABASE shop; CREATE SEQUENCE shop.numbers;
    CREATE TABLE shop.orders (id BIGINT AUTO_INCREMENT PRIMARY KEY, buyer TEXT)"

# The answers of a client whose transaction stays open.
open_order() { # name, statements, words of the client
    : >"$folder/open"
    exec 3> >(query "$1" "${@:3}" >"$folder/open" 2>&1)
    echo "$2 SELECT 'done';" >&3
    until grep -q done "$folder/open"; do sleep 0.02; done
    mapfile -t answers <"$folder/open"
}
until_up() {
    exec 3>&-
    until query "$1" <<<"SELECT 1" >/dev/null 2>&1; do sleep 0.2; done
}
again() { # earlier, later
    if [ "$2" -le "$1" ]; then echo yes; else echo "no: $2 after $1"; fi
}

for _ in 1 2 3 4 5; do
    # Forty numbers: the log is ahead of the sequence by 32. The process of one client is killed, as for want of memory.
    open_order postgres "BEGIN; SELECT pg_backend_pid(); SELECT max(nextval('numbers')) FROM generate_series(1, 40);"
    kill -9 "${answers[0]}"
    until_up postgres
    found=$(again "${answers[1]}" "$(query postgres <<<"SELECT nextval('numbers')")")
    [ "$found" != yes ] || break
done
seen "is a number of PostgreSQL handed out again" yes "$found"

for _ in 1 2 3 4 5; do
    query mariadb shop <<<"INSERT INTO orders (buyer) VALUES ('committed')"
    open_order mariadb "SELECT MAX(NEXT VALUE FOR numbers) FROM seq_1_to_1500; BEGIN;
        INSERT INTO orders (buyer) VALUES ('a'), ('b'), ('c'); SELECT MAX(id) FROM orders;" shop --unbuffered
    kill -9 "${pids[-1]}"
    wait "${pids[-1]}" 2>/dev/null || true
    start_mariadb mariadb
    until_up mariadb
    found=$(again "${answers[1]}" "$(query mariadb shop <<<"INSERT INTO orders (buyer) VALUES ('d'); SELECT LAST_INSERT_ID()")")
    alone=$(again "${answers[0]}" "$(query mariadb shop <<<"SELECT NEXT VALUE FOR numbers")")
    [ "$found $alone" != "yes yes" ] || break
done
seen "is an AUTO_INCREMENT of MariaDB handed out again" yes "$found"
seen "is what NEXT VALUE FOR said with autocommit" yes "$alone"
verdict
