#!/usr/bin/env bash
# PostgreSQL with a synchronous standby that is away. A consumer's COMMIT gets no answer, though
# statement_timeout and the query's time-out are a second, the socket's five. It then looks whether the row is there.
# Guess: statement_timeout ends the COMMIT with an error, and what failed is not there; or it is there, and a look shows it.
# Seen on PostgreSQL 15.18 with pgjdbc 42.7.14: neither statement_timeout nor that of a query ends a COMMIT. After that of the
# socket the look finds no row, not even with FOR UPDATE, for as long as the standby is away; then the row is there after all:
# it was committed, only not shown. Whoever believes the look sells the unit twice. An INSERT of the same key tells: it waits.
# Needs psql, postgres and pg_receivewal.
. "$(dirname "$0")/common.sh"
start_postgres postgres $((20000 + RANDOM % 6000))
query postgres <<<"SELECT version(); CREATE TABLE orders (id INT PRIMARY KEY)"
query postgres -c "ALTER SYSTEM SET synchronous_standby_names = 'standby'" -c "SELECT pg_reload_conf()" >/dev/null
java_program org.postgresql:postgresql:42.7.14 <<'JAVA'
import java.sql.DriverManager;
import java.sql.SQLException;

public class Probe {
    public static void main(String[] args) throws Exception {
        try (var orders = DriverManager.getConnection(args[0]); var insert = orders.createStatement()) {
            orders.setAutoCommit(false);
            insert.setQueryTimeout(1);
            insert.executeUpdate("INSERT INTO orders VALUES (7)");
            long begin = System.nanoTime();
            try {
                orders.commit();
                System.out.println("committed");
            } catch (SQLException error) {
                System.out.println(error.getSQLState() + " after " + (System.nanoTime() - begin) / 1_000_000_000 + " s");
            }
        }
    }
}
JAVA
url="jdbc:postgresql://127.0.0.1:$database_port/postgres?user=root&options=-c%20statement_timeout=1s&socketTimeout=5"
seen "a COMMIT with time-outs of 1, 1 and 5 seconds" "08006 after 5 s" "$(probe "$url")"
seen "rows, by SELECT and by SELECT FOR UPDATE" 0,0 \
    "$(query postgres <<<"SELECT count(*) FROM orders; SELECT count(*) FROM (SELECT FROM orders FOR UPDATE) AS found" | paste -sd,)"
seen "the INSERT again" "canceling statement due to statement timeout" \
    "$(query postgres -c "SET statement_timeout = '1s'" -c "INSERT INTO orders VALUES (7) ON CONFLICT DO NOTHING" 2>&1 | grep -o "cancel.*")"
mkdir "$folder/standby"
"$(pg_config --bindir)/pg_receivewal" -D "$folder/standby" --synchronous -d \
    "host=127.0.0.1 port=$database_port user=root application_name=standby" &
pids+=($!)
tries=0
until [ "$(query postgres <<<"SELECT count(*) FROM orders")" = 1 ] || [ $((tries += 1)) = 100 ]; do sleep 0.2; done
seen "rows, once the standby is back" 1 "$(query postgres <<<"SELECT count(*) FROM orders")"
verdict
