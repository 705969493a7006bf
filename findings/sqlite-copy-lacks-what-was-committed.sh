#!/usr/bin/env bash
# A backup of a SQLite file in WAL mode by cp while a program has it open; and a backup that is put back after a crash.
# Guess: the copy has what was committed when it was made, and the file is what the backup was.
# Seen on SQLite 3.40.1: the copy passes integrity_check and has no row of those that were committed. The file that was put
# back shows the rows of after the backup: they come from the -wal file that the crash has left beside it.
. "$(dirname "$0")/common.sh"
sqlite3 --version | cut -d' ' -f1
shop=$folder/shop.db
rows() { sqlite3 "$1" "PRAGMA integrity_check; SELECT COUNT(*) FROM o" | tr '\n' ' '; }
written() { # rows by a program that keeps the file open
    echo "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < $1) INSERT INTO o SELECT i FROM n;" >&3
    echo ".shell touch $folder/$1" >&3
    until [ -e "$folder/$1" ]; do sleep 0.05; done
}
mkfifo "$folder/statements"
sqlite3 "$shop" <"$folder/statements" >/dev/null &
program=$!
pids+=($program)
exec 3>"$folder/statements"
echo "PRAGMA journal_mode = WAL; CREATE TABLE o (id INTEGER); PRAGMA wal_checkpoint;" >&3
written 100
cp "$shop" "$folder/copy.db"
sqlite3 "$shop" ".backup $folder/backup.db"
written 50
kill -9 $program
wait $program 2>/dev/null || true
cp "$folder/backup.db" "$folder/alone.db"
cp "$folder/backup.db" "$shop"
seen "a copy by cp" "ok 0 " "$(rows "$folder/copy.db")"
seen "a backup by .backup" "ok 100 " "$(rows "$folder/alone.db")"
seen "the same, put back beside the -wal file" "ok 150 " "$(rows "$shop")"
verdict
