#!/usr/bin/env bash
# A consumer writes a batch of orders in one transaction, without autocommit. It catches the error of one order, goes on with
# the next ones, commits, and acknowledges all but that one.
# Guess: an error undoes its own statement, or the transaction refuses everything from then on.
# Seen on MariaDB 10.11.19 and MySQL 9.7.4: after a duplicate (1062) or a lock wait (1205) only the order itself is missing.
# After a deadlock (1213) those before it are gone, those after it are stored, and COMMIT says nothing. With
# autocommit and BEGIN, what comes after it is stored even by ROLLBACK.
# Needs mariadbd, mariadb-install-db and mariadb (Debian's mariadb-server); `scripts/servers mysql-9` gets MySQL.
. "$(dirname "$0")/common.sh"
batch() { # name, what begins it, a statement that fails, what ends it, "deadlock": the error, then the orders that are stored
    query "$1" <<<"DROP TABLE IF EXISTS shop.orders, shop.stock; CREATE TABLE shop.orders (id INT PRIMARY KEY);
        CREATE TABLE shop.stock (id INT PRIMARY KEY, units INT); INSERT INTO shop.stock VALUES (7, 50), (8, 50);
        INSERT INTO shop.orders VALUES (3)"
    # Another transaction, which has written more, holds 7 and comes to wait for 8.
    : >"$folder/other" && : >"$folder/batch"
    exec 3> >(query "$1" --unbuffered >"$folder/other" 2>&1) 4> >(query "$1" --force --unbuffered >"$folder/batch" 2>&1)
    echo "BEGIN; INSERT INTO shop.orders VALUES (91), (92), (93), (94), (95), (96), (97), (98), (99);
        UPDATE shop.stock SET units = 0 WHERE id = 7; SELECT 'holds';" >&3
    until grep -q holds "$folder/other"; do sleep 0.05; done
    echo "SET SESSION innodb_lock_wait_timeout = 1; $2; INSERT INTO shop.orders VALUES (1);
        UPDATE shop.stock SET units = units - 1 WHERE id = 8; INSERT INTO shop.orders VALUES (2); SELECT 'two';" >&4
    until grep -q two "$folder/batch"; do sleep 0.05; done
    if [ "${5:-}" = deadlock ]; then
        echo "UPDATE shop.stock SET units = 0 WHERE id = 8;" >&3
        until [ "$(query "$1" <<<"SELECT COUNT(*) FROM information_schema.innodb_trx WHERE trx_state = 'LOCK WAIT'")" = 1 ]; do sleep 0.2; done
    fi
    echo "$3; INSERT INTO shop.orders VALUES (4); $4; SELECT 'end';" >&4
    until grep -q end "$folder/batch"; do sleep 0.05; done
    echo "ROLLBACK;" >&3
    exec 3>&- 4>&-
    grep -oE 'ERROR [0-9]+' "$folder/batch" | tail -1 | tr '\n' ' '
    query "$1" <<<"SELECT GROUP_CONCAT(id ORDER BY id) FROM shop.orders WHERE id IN (1, 2, 4)"
}
for name in mariadb mysql; do
    "start_$name" $name
    query $name <<<"SELECT VERSION(); CREATE DATABASE shop"
    taken="UPDATE shop.stock SET units = units - 1 WHERE id = 7"
    seen "orders stored of 1, 2 and 4, after a duplicate" "ERROR 1062 1,2,4" \
        "$(batch $name "SET autocommit = 0" "INSERT INTO shop.orders VALUES (3)" COMMIT)"
    seen "after a lock wait" "ERROR 1205 1,2,4" "$(batch $name "SET autocommit = 0" "$taken" COMMIT)"
    seen "after a deadlock" "ERROR 1213 4" "$(batch $name "SET autocommit = 0" "$taken" COMMIT deadlock)"
    seen "after a deadlock, with BEGIN and ROLLBACK" "ERROR 1213 4" "$(batch $name BEGIN "$taken" ROLLBACK deadlock)"
done
verdict
