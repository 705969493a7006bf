#!/usr/bin/env bash
# Four tasks are free. Two workers take the most urgent one each: SELECT .. WHERE taken_by IS NULL ORDER BY priority LIMIT 1 FOR UPDATE
# SKIP LOCKED.
# Guess: the second gets the second one; at READ COMMITTED at least, where InnoDB does not keep locks of rows that it does not return.
# Seen on MariaDB 10.11.19 and MySQL 9.7.4, at both levels: the second gets none, and believes that all is done. Rows are locked before
# they are sorted, so the first has locked all four for one, and who changes another by its key waits. With an index on
# priority the second gets the second one; on MariaDB an index that the WHERE likes better, with ORDER BY of the key, takes
# it away again. PostgreSQL 15.18 locks what it returns, index or not.
# Needs psql, postgres, mariadbd, mariadb-install-db and mariadb; `scripts/servers mysql-9` gets MySQL.
. "$(dirname "$0")/common.sh"
start_mariadb mariadb
start_mysql mysql
start_postgres postgres
tasks="CREATE TABLE %s (id INT PRIMARY KEY, priority INT, taken_by VARCHAR(9));
    INSERT INTO %s VALUES (1, 4, NULL), (2, 3, NULL), (3, 2, NULL), (4, 1, NULL);"
take() { # table, order
    echo "SELECT id FROM $1 WHERE taken_by IS NULL ORDER BY $2 LIMIT 1 FOR UPDATE SKIP LOCKED"
}
second() { # name, level, table, order
    beside "$1" "$2" "${use:-}$(take "$3" "$4")" "${use:-}$(take "$3" "$4")"
}
for database in mariadb mysql; do
    query $database <<<"CREATE DATABASE shop"
    for table in plain sorted filtered; do query $database shop <<<"${tasks//%s/$table}"; done
    query $database shop <<<"CREATE INDEX i ON sorted (priority); CREATE INDEX i ON filtered (taken_by, priority)"
    use="USE shop; "
    for level in "REPEATABLE READ" "READ COMMITTED"; do
        seen "$database, $level, the second worker's" "" "$(second $database "$level" plain priority)"
        seen "with an index on priority" 3 "$(second $database "$level" sorted priority)"
    done
    other="SELECT id FROM plain WHERE id = 1 FOR UPDATE NOWAIT"
    found=$(beside $database "READ COMMITTED" "$use$(take plain priority)" "$use$other")
    seen "is another row locked" yes "$(grep -q "ERROR" <<<"$found" && echo yes || echo "no: $found")"
done
seen "MariaDB, with an index on taken_by and priority, in the order of the key" "" "$(second mariadb "READ COMMITTED" filtered id)"
seen "MySQL, likewise" 2 "$(second mysql "READ COMMITTED" filtered id)"
query postgres <<<"${tasks//%s/plain}"
use=""
seen "PostgreSQL, READ COMMITTED, the second worker's" 3 "$(second postgres "READ COMMITTED" plain priority)"
verdict
