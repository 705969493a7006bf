#!/usr/bin/env bash
# A statement that is prepared once, and gets a number first and a text later, in the same place.
# Guess: each execution stores what it was given, as the manual says of types that differ: the statement is prepared again.
# Seen on MySQL 9.7.4: the text becomes a number without an error, in strict mode too. SET stores '007' as 7 without a
# warning and 'abc' as 0 with one; an INSERT into a column of text stores '007' as 7, but 'abc' as it is. After a text
# nothing of the kind happens. MariaDB 10.11.19 keeps every text.
# Needs mariadbd, mariadb-install-db and mariadb (Debian's mariadb-server); `scripts/servers mysql-9` gets MySQL.
. "$(dirname "$0")/common.sh"
stored() { # name, first value, second value: the variable, warnings, and the row
    query "$1" <<<"PREPARE s FROM 'SET @to = ?'; PREPARE i FROM 'INSERT INTO shop.o (ref) VALUES (?)';
        TRUNCATE shop.o; SET @one = $2; EXECUTE s USING @one; EXECUTE i USING @one;
        SET @one = $3; EXECUTE s USING @one; SELECT @to, @@warning_count; EXECUTE i USING @one;
        SELECT ref FROM shop.o ORDER BY id DESC LIMIT 1" | tr '\t\n' '  '
}
for name in mariadb mysql; do
    "start_$name" $name
    query $name <<<"SELECT VERSION(); CREATE DATABASE shop;
        CREATE TABLE shop.o (id INT AUTO_INCREMENT PRIMARY KEY, ref VARCHAR(9) NOT NULL)"
    number=7 other="0 1"
    [ $name = mysql ] || number=007 other="abc 0"
    seen "$name, 007 after 5" "$number 0 $number " "$(stored $name 5 "'007'")"
    seen "$name, abc after 5" "$other abc " "$(stored $name 5 "'abc'")"
    seen "$name, 007 after x" "007 0 007 " "$(stored $name "'x'" "'007'")"
done
verdict
