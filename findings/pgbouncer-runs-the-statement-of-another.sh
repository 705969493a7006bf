#!/usr/bin/env bash
# PgBouncer in transaction mode, which knows nothing of prepared statements before 1.21, and after it with
# max_prepared_statements 0, in front of PostgreSQL. Two clients use pgjdbc, with statements of their own: one takes an item
# from the stock, and the other adds 100 points to an account. Both have done it, and the first one does it again.
# Guess: it works, or there is an error, of a prepared statement that exists already or does not exist.
# Seen with PgBouncer 1.18.0, pgjdbc 42.7.14, and PostgreSQL 15.18: the first is told that one row was changed, and it was
# the other's statement that ran, with the parameter of the first. Both drivers call their statements S_1, S_2 and so on,
# and the first is lent the connection on which the other has prepared. Its stock is as before, and the account of the
# number of the item has 100 points more. With prepareThreshold=0 each statement is what it says; here 1 stands for 5, the
# default, so that the second execution is enough.
# Needs psql, postgres and pgbouncer.
. "$(dirname "$0")/common.sh"
tcp=$((20000 + RANDOM % 12000))
start_postgres postgres $tcp
query postgres <<<"SELECT VERSION()"
bounce=$((tcp + 1))
start_pgbouncer $bounce
java_program org.postgresql:postgresql:42.7.14 <<'JAVA'
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;

public class Probe {
    static Connection open(String[] args) throws SQLException {
        var url = "jdbc:postgresql://127.0.0.1:" + args[0] + "/postgres?prepareThreshold=" + args[1];
        var client = DriverManager.getConnection(url, "root", "");
        client.setAutoCommit(false);
        return client;
    }

    public static void main(String[] args) throws Exception {
        var shop = open(args);
        var points = open(args);
        var take = shop.prepareStatement("UPDATE stock SET n = n - 1 WHERE item = ?");
        var add = points.prepareStatement("UPDATE points SET n = n + 100 WHERE account = ?");
        take.setInt(1, 7);
        add.setInt(1, 9);
        // At once, so on a connection each; the one that is given back last is lent first.
        take.executeUpdate();
        add.executeUpdate();
        shop.commit();
        points.commit();
        System.out.println(take.executeUpdate());
        shop.commit();
    }
}
JAVA
twice() { # prepareThreshold: what the second execution is told, and what is stored then
    query postgres <<<"DROP TABLE IF EXISTS stock, points; CREATE TABLE stock (item int, n int);
        CREATE TABLE points (account int, n int); INSERT INTO stock VALUES (7, 10); INSERT INTO points VALUES (7, 0), (9, 0)" 2>/dev/null
    echo "$(probe $bounce "$1") row, stock $(query postgres <<<"SELECT n FROM stock"), points $(
        query postgres <<<"SELECT string_agg(account || ': ' || n, ', ' ORDER BY account) FROM points")"
}
seen "prepareThreshold=0" "1 row, stock 8, points 7: 0, 9: 100" "$(twice 0)"
seen "prepareThreshold=1" "1 row, stock 9, points 7: 100, 9: 100" "$(twice 1)"
verdict
