#!/usr/bin/env bash
# MariaDB keeps temporary tables as files in tmpdir, by default /tmp, with its process id in their names.
# Guess: several servers can share that folder, as all programs share /tmp.
# Seen on MariaDB 10.11.19: a server that starts deletes the files of all others there. A session that has its table open
# reads on; what needs the names fails with errno 2, such as ALTER TABLE, and now and then mariadb-install-db beside
# another one.
# Needs mariadbd, mariadb-install-db and mariadb (Debian's mariadb-server).
. "$(dirname "$0")/common.sh"
mkdir "$folder/shared" && chmod 777 "$folder/shared"
start_mariadb first "$folder/shared"
exec 3> >(query first --force --unbuffered >"$folder/said" 2>&1)
echo "CREATE DATABASE shop; USE shop; CREATE TEMPORARY TABLE t (a INT) ENGINE = Aria; INSERT INTO t VALUES (1), (2);" >&3
until ls "$folder"/shared/*.MAD >/dev/null 2>&1; do sleep 0.1; done
files() { find "$folder/shared" -name '#sql-temptable-*' | wc -l; }
seen "files of the first server's temporary table" 2 "$(files)"
start_mariadb second "$folder/shared"
seen "files after the start of a second one" 0 "$(files)"
echo "SELECT COUNT(*) FROM t; ALTER TABLE t ADD b INT;" >&3
exec 3>&-
until grep -q Errcode "$folder/said"; do sleep 0.1; done
seen "rows that the session still reads" 2 "$(grep -m1 -x '[0-9]*' "$folder/said")"
seen "ALTER TABLE" "Errcode: 2" "$(grep -o 'Errcode: [0-9]*' "$folder/said")"
verdict
