#!/usr/bin/env bash
# A consumer inserts orders by INSERT .. ON DUPLICATE KEY UPDATE id = id, and takes an update count of 1 for a new order, as the
# manual of the server says: 1 for a new row, 0 for one that was left as it is. Or it asks for generated keys.
# Guess: executeUpdate says so, and executeBatch says so of each order; each key is that of a row.
# Seen with Connector/J 9.7.0 on MySQL 9.7.4, and MariaDB Connector/J 3.5.11 on MariaDB 10.11.19: a repeat counts 1, too,
# unless the URL has useAffectedRows=true. INSERT IGNORE is right, until rewriteBatchedStatements=true of Connector/J:
# then each order of a batch, by either statement, counts -2. Its generated keys are as many as orders then; the repeat
# gets the key of another's row, and two keys are of no row.
# Needs mariadbd, mariadb-install-db and mariadb (Debian's mariadb-server); `scripts/servers mysql-9` gets MySQL.
. "$(dirname "$0")/common.sh"
maria=$((20000 + RANDOM % 6000)) my=$((26000 + RANDOM % 6000))
start_mariadb mariadb "" $maria
start_mysql mysql $my
java_program com.mysql:mysql-connector-j:9.7.0 org.mariadb.jdbc:mariadb-java-client:3.5.11 <<'JAVA'
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

public class Probe {
    public static void main(String[] args) throws Exception {
        try (var database = DriverManager.getConnection(args[0])) {
            try (Statement statement = database.createStatement()) {
                statement.execute("DROP TABLE IF EXISTS shop.orders");
                statement.execute("CREATE TABLE shop.orders (row_id INT AUTO_INCREMENT UNIQUE, id INT PRIMARY KEY)");
                statement.execute("INSERT INTO shop.orders (id) VALUES (1), (2)");
            }
            String sql = args[1].equals("ignore") ? "INSERT IGNORE INTO shop.orders (id) VALUES (?)"
                    : "INSERT INTO shop.orders (id) VALUES (?) ON DUPLICATE KEY UPDATE id = id";
            try (PreparedStatement insert = database.prepareStatement(sql, Statement.RETURN_GENERATED_KEYS)) {
                insert.setInt(1, 1);
                System.out.print("repeat " + insert.executeUpdate());
                for (int order : new int[] {1, 10, 2, 11}) {
                    insert.setInt(1, order);
                    insert.addBatch();
                }
                System.out.print(", batch " + Arrays.toString(insert.executeBatch()));
                List<Integer> keys = new ArrayList<>();
                try (var key = insert.getGeneratedKeys()) {
                    while (key.next()) {
                        keys.add(key.getInt(1));
                    }
                }
                System.out.print(", keys " + keys);
            }
            try (Statement statement = database.createStatement()) {
                var rows = statement.executeQuery("SELECT GROUP_CONCAT(row_id ORDER BY id) FROM shop.orders WHERE id > 9");
                rows.next();
                System.out.println(", rows " + rows.getString(1));
            }
        }
    }
}
JAVA
for name in mariadb mysql; do
    query $name <<<"SELECT VERSION(); CREATE DATABASE shop"
    url="jdbc:mariadb://127.0.0.1:$maria/shop?user=root"
    [ $name = mariadb ] || url="jdbc:mysql://127.0.0.1:$my/shop?user=root&sslMode=DISABLED&allowPublicKeyRetrieval=true"
    seen "ON DUPLICATE KEY UPDATE, of orders old, new, old, new" "repeat 1, batch [1, 1, 1, 1], keys [5, 7], rows 5,7" "$(probe "$url" update)"
    seen "with useAffectedRows" "repeat 0, batch [0, 1, 0, 1], keys [5, 7], rows 5,7" "$(probe "$url&useAffectedRows=true" update)"
    seen "INSERT IGNORE" "repeat 0, batch [0, 1, 0, 1], keys [5, 7], rows 5,7" "$(probe "$url" ignore)"
    [ $name = mysql ] || continue
    url+="&rewriteBatchedStatements=true"
    seen "ON DUPLICATE KEY UPDATE, rewritten" "repeat 1, batch [-2, -2, -2, -2], keys [4, 5, 6, 7], rows 4,5" "$(probe "$url" update)"
    seen "INSERT IGNORE, rewritten" "repeat 0, batch [-2, -2, -2, -2], keys [4, 5], rows 4,5" "$(probe "$url" ignore)"
done
verdict
