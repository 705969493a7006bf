#!/usr/bin/env bash
# Hibernate takes a unit of each of three stocks in one transaction, in a batch, with @Version. Another transaction has written
# one of them meanwhile.
# Guess: OptimisticLockException, and nothing is written, whichever driver and options.
# Seen with Hibernate 7.4.15 and MariaDB Connector/J 3.5.11 on MariaDB 10.11.19: so it is, but with useBulkStmts=true the
# transaction commits, and one of three stocks was not written. The driver answers a batch by "done, unknown how many rows",
# which Hibernate takes for a success. A batch of DELETEs is the same.
# Needs mariadbd, mariadb-install-db and mariadb (Debian's mariadb-server).
. "$(dirname "$0")/common.sh"
port=$((20000 + RANDOM % 12000))
start_mariadb mariadb "" $port
query mariadb <<<"SELECT VERSION(); CREATE DATABASE shop"
java_program org.hibernate.orm:hibernate-core:7.4.15.Final org.mariadb.jdbc:mariadb-java-client:3.5.11 <<'JAVA'
import jakarta.persistence.Entity;
import jakarta.persistence.Id;
import jakarta.persistence.OptimisticLockException;
import jakarta.persistence.Version;
import java.util.function.BiConsumer;
import org.hibernate.Session;
import org.hibernate.SessionFactory;
import org.hibernate.cfg.Configuration;

public class Probe {
    @Entity(name = "stock")
    public static class Stock {
        @Id
        int id;
        int units = 5;
        @Version
        int version;
    }

    static String each(SessionFactory shop, BiConsumer<Session, Stock> write) {
        String told = "committed";
        try {
            shop.inTransaction(session -> {
                var stocks = session.createSelectionQuery("from stock order by id", Stock.class).getResultList();
                shop.inTransaction(other -> other.find(Stock.class, 2).units += 100);
                stocks.forEach(stock -> write.accept(session, stock));
            });
        } catch (OptimisticLockException error) {
            told = "refused";
        }
        return told + " " + shop.fromTransaction(session ->
                session.createSelectionQuery("select units from stock order by id", Integer.class).getResultList());
    }

    public static void main(String[] args) {
        var shop = new Configuration().addAnnotatedClass(Stock.class).setProperty("hibernate.hbm2ddl.auto", "create")
                .setProperty("hibernate.jdbc.batch_size", "20").setProperty("hibernate.connection.url", args[0]).buildSessionFactory();
        shop.inTransaction(session -> {
            for (int id = 1; id <= 3; id++) {
                Stock stock = new Stock();
                stock.id = id;
                session.persist(stock);
            }
        });
        System.out.print(each(shop, (session, stock) -> stock.units--));
        System.out.println(", " + each(shop, Session::remove));
        Runtime.getRuntime().halt(0);
    }
}
JAVA
url="jdbc:mariadb://127.0.0.1:$port/shop?user=root"
seen "three updates, three deletes" "refused [5, 105, 5], refused [5, 205, 5]" "$(probe "$url")"
seen "with useBulkStmts" "committed [4, 105, 4], committed [205]" "$(probe "$url&useBulkStmts=true")"
verdict
