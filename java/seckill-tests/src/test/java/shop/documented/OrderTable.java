package shop.documented;

import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.HashMap;
import java.util.Map;

/** The shop's table of orders. An order that is there is not inserted again. */
record OrderTable(Connection connection) implements AutoCloseable {
    private static final String UNIQUE = "23505";

    static OrderTable at(String url) {
        try {
            return new OrderTable(DriverManager.getConnection(url));
        } catch (SQLException failed) {
            throw new IllegalStateException(failed);
        }
    }

    void run(String sql, String... values) throws SQLException {
        try (var statement = connection.prepareStatement(sql)) {
            for (int i = 0; i < values.length; i++) {
                statement.setString(i + 1, values[i]);
            }
            statement.executeUpdate();
        }
    }

    void insert(String id, String user, String voucher) {
        try {
            run("INSERT INTO tb_voucher_order (id, user_id, voucher_id) VALUES (?, ?, ?)",
                    id, user, voucher);
        } catch (SQLException failed) {
            if (!UNIQUE.equals(failed.getSQLState())) {
                throw new IllegalStateException(failed);
            }
        }
    }

    /** User and status of a voucher's orders. */
    Map<String, String> orders(String voucher) throws SQLException {
        String sql = "SELECT id, user_id, status FROM tb_voucher_order WHERE voucher_id = " + voucher;
        Map<String, String> orders = new HashMap<>();
        try (var statement = connection.createStatement();
                ResultSet rows = statement.executeQuery(sql)) {
            while (rows.next()) {
                orders.put(rows.getString(1), rows.getString(2) + " " + rows.getString(3));
            }
        }
        return orders;
    }

    @Override
    public void close() {
        try {
            connection.close();
        } catch (SQLException failed) {
            throw new IllegalStateException(failed);
        }
    }
}
