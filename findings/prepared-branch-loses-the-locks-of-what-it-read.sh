#!/usr/bin/env bash
# A branch of a distributed transaction (XA) locks a buyer's row by FOR UPDATE to see what the buyer has,
# writes another row, and is prepared. Its client goes away, the server is killed and starts again, and nobody has committed it yet.
# Guess: what is prepared keeps all of its locks until it is committed, restart or not; so no second request of the buyer passes.
# Seen on MariaDB 10.11.19 and MySQL 9.7.4: after the restart only the row that it wrote is locked, and that of the buyer is free: a second
# request checks it, sells, and then the first is committed, too. A branch that only locks and writes nothing loses its lock
# when its client leaves, though XA RECOVER names it; its commit is OK on MySQL, and on MariaDB an error (1402). PostgreSQL 15.18
# keeps the locks of both rows. Write the row that guards, such as a counter in it, instead of only locking it.
# Needs psql, postgres, mariadbd, mariadb-install-db and mariadb; `scripts/servers mysql-9` gets MySQL.
. "$(dirname "$0")/common.sh"
ask() { # name, statements
    case $1 in postgres) query "$1" -v ON_ERROR_STOP=1 <<<"$2" ;; *) query "$1" shop <<<"$2" ;; esac
}
# Which of the two rows another transaction can lock.
locks() { # name
    local row
    for row in buyer stock; do
        if ask "$1" "BEGIN; SELECT n FROM shop WHERE id = '$row' FOR UPDATE NOWAIT; COMMIT" >"$folder/said" 2>&1; then
            echo "$row free"
        else
            grep -qE "1205|3572|could not obtain lock on row" "$folder/said" && echo "$row locked" || cat "$folder/said"
        fi
    done | xargs
}
restart() { # name, signal
    kill "-$2" "${pids[-1]}"
    wait "${pids[-1]}" 2>/dev/null || true
    "start_$1" "$1"
}
table="CREATE TABLE shop (id VARCHAR(9) PRIMARY KEY, n INT); INSERT INTO shop VALUES ('buyer', 0), ('stock', 8)"
lock="SELECT n FROM shop WHERE id = 'buyer' FOR UPDATE"
both="$lock; UPDATE shop SET n = n - 1 WHERE id = 'stock'"
for name in mariadb mysql; do
    "start_$name" "$name"
    query "$name" <<<"CREATE DATABASE shop"
    ask "$name" "$table"
    ask "$name" "XA START 'b'; $both; XA END 'b'; XA PREPARE 'b'" >/dev/null
    seen "$name, prepared" "buyer locked stock locked" "$(locks "$name")"
    restart "$name" KILL
    seen "after the restart it is prepared" b "$(ask "$name" "XA RECOVER" | cut -f4)"
    seen "and locks" "buyer free stock locked" "$(locks "$name")"
    ask "$name" "XA COMMIT 'b'"
    seen "the stock after its commit" 7 "$(ask "$name" "SELECT n FROM shop WHERE id = 'stock'")"
    ask "$name" "XA START 'l'; $lock; XA END 'l'; XA PREPARE 'l'" >/dev/null
    # The server ends the connection after its client.
    for _ in $(seq 50); do [[ $(locks "$name") != *locked* ]] || sleep 0.1; done
    seen "one that only locks is prepared" l "$(ask "$name" "XA RECOVER" | cut -f4)"
    seen "and locks" "buyer free stock free" "$(locks "$name")"
    error=$([ "$name" = mysql ] || echo "ERROR 1402")
    seen "and its commit says" "$error" "$(ask "$name" "XA COMMIT 'l'" 2>&1 | grep -o 'ERROR [0-9]*')"
done
start_postgres postgres
query postgres <<<"ALTER SYSTEM SET max_prepared_transactions = 1"
restart postgres INT
ask postgres "$table"
ask postgres "BEGIN; $both; PREPARE TRANSACTION 'b'" >/dev/null
restart postgres QUIT
seen "PostgreSQL, after the restart" "buyer locked stock locked" "$(locks postgres)"
verdict
