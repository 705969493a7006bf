#!/usr/bin/env bash
# A consumer writes a batch of orders in one transaction, catches the error of one order, goes on, and calls commit().
# Guess: commit() throws, since PostgreSQL has nothing to commit: it answers COMMIT with the tag ROLLBACK.
# Seen with pgjdbc 42.7.14 on PostgreSQL 15.18: commit() returns. No order of the batch is stored, those before the error no more
# than those after it, and who acknowledges all but the failed one loses them. Spring's TransactionTemplate, as of
# spring-jdbc 6.2.12, returns too. With autosave=always, a savepoint for each statement, the others are stored.
# Needs psql and postgres.
. "$(dirname "$0")/common.sh"
tcp=$((20000 + RANDOM % 12000))
start_postgres postgres $tcp
query postgres <<<"SELECT VERSION(); CREATE TABLE orders (id INT PRIMARY KEY); INSERT INTO orders VALUES (2)"
seen "the tag of COMMIT" ROLLBACK "$(psql -X -h "$folder/postgres" -p $tcp -U root postgres 2>/dev/null <<<"BEGIN;
    INSERT INTO orders VALUES (2); COMMIT" | tail -1)"
java_program org.postgresql:postgresql:42.7.14 org.springframework:spring-jdbc:6.2.12 <<'JAVA'
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.sql.Statement;
import org.springframework.jdbc.datasource.DataSourceTransactionManager;
import org.springframework.jdbc.datasource.DataSourceUtils;
import org.springframework.jdbc.datasource.SingleConnectionDataSource;
import org.springframework.transaction.support.TransactionTemplate;

public class Probe {
    static void write(Connection database) throws SQLException {
        Statement statement = database.createStatement();
        for (int order = 1; order <= 3; order++) {
            try {
                statement.executeUpdate("INSERT INTO orders VALUES (" + order + ")");
            } catch (SQLException failed) {
                System.out.print(order + " failed, ");
            }
        }
    }

    public static void main(String[] args) throws Exception {
        Connection database = DriverManager.getConnection(args[0]);
        try {
            if (args[1].equals("spring")) {
                var source = new SingleConnectionDataSource(database, true);
                new TransactionTemplate(new DataSourceTransactionManager(source)).executeWithoutResult(status -> {
                    try {
                        write(DataSourceUtils.getConnection(source));
                    } catch (SQLException e) {
                        throw new IllegalStateException(e);
                    }
                });
            } else {
                database.setAutoCommit(false);
                write(database);
                database.commit();
            }
            System.out.println("committed");
        } catch (Exception failed) {
            System.out.println(failed.getClass().getSimpleName());
        }
    }
}
JAVA
stored() { query postgres <<<"SELECT string_agg(id::text, ' ' ORDER BY id) FROM orders"; }
url="jdbc:postgresql://127.0.0.1:$tcp/postgres?user=root"
for by in jdbc spring; do
    seen "told, by $by" "2 failed, 3 failed, committed" "$(probe "$url" $by)"
    seen "stored" 2 "$(stored)"
done
seen "told, with autosave=always" "2 failed, committed" "$(probe "$url&autosave=always" jdbc)"
seen "stored" "1 2 3" "$(stored)"
verdict
