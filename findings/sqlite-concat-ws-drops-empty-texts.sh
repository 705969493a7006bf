#!/usr/bin/env bash
# Columns of a row joined by CONCAT_WS, and divided again where they are read. One of them is an empty text.
# Guess: an empty text is a value, so its separator stays, as in PostgreSQL and MariaDB; only NULL is passed over.
# Seen on SQLite 3.46.1: the separator is gone, too, so all columns behind it are read one place too early. 3.50.4 keeps
# it, as PostgreSQL 15.18 and MariaDB 10.11.19 do. CONCAT with the separators as texts is the same everywhere.
# Needs python3 with pip, psql, postgres, mariadbd, mariadb-install-db and mariadb.
. "$(dirname "$0")/common.sh"
ask="SELECT CONCAT_WS(' ', 'a', '', 'b'), CONCAT('a', ' ', '', ' ', 'b')"
sqlite() { # version of the package apsw, which has SQLite in it
    python3 -m pip install -q --no-deps --target "$folder/$1" "apsw==$1" 2>"$folder/log" || cat "$folder/log"
    PYTHONPATH=$folder/$1 python3 -c "import apsw
print(*apsw.Connection(':memory:').execute(\"$ask\").fetchone(), sep='|')"
}
seen "SQLite 3.46.1" "a b|a  b" "$(sqlite 3.46.1.0)"
seen "SQLite 3.50.4" "a  b|a  b" "$(sqlite 3.50.4.0)"
for name in postgres mariadb; do
    "start_$name" $name
    seen "$name" "a  b|a  b" "$(query $name <<<"$ask" | tr '\t' '|')"
done
verdict
