#!/usr/bin/env bash
# ShedLock: a job, such as one that closes unpaid orders, takes longer than lockAtMostFor. The next one has taken the lock by then
# and works. The first one ends, and a third comes.
# Guess: the first one's unlock finds that the lock is another's, and leaves it; the third is refused.
# Seen with ShedLock 7.10.1, Redis by Spring (Redis 7.0.15): it deletes the second's lock, and the third runs beside the
# second. The value of the key is compared only after safeUpdate(true) of the builder. By JDBC (here H2 2.4.240) the row is compared
# with the name of the host, so it is the same between processes of one host, or of one host name; with a withLockedByValue of
# each process the third is refused.
. "$(dirname "$0")/common.sh"
start redis-7.0
java_program net.javacrumbs.shedlock:shedlock-provider-jdbc-template:7.10.1 com.h2database:h2:2.4.240 \
    net.javacrumbs.shedlock:shedlock-provider-redis-spring:7.10.1 org.springframework.data:spring-data-redis:4.1.2 \
    redis.clients:jedis:7.4.1 <<'JAVA'
import java.time.Duration;
import java.time.Instant;
import java.util.function.Supplier;
import net.javacrumbs.shedlock.core.LockConfiguration;
import net.javacrumbs.shedlock.core.LockProvider;
import net.javacrumbs.shedlock.provider.jdbctemplate.JdbcTemplateLockProvider;
import net.javacrumbs.shedlock.provider.redis.spring.RedisLockProvider;
import org.springframework.data.redis.connection.RedisStandaloneConfiguration;
import org.springframework.data.redis.connection.jedis.JedisConnectionFactory;
import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.jdbc.datasource.DriverManagerDataSource;

public class Probe {
    static LockConfiguration atMost(String job, int seconds) {
        return new LockConfiguration(Instant.now(), job, Duration.ofSeconds(seconds), Duration.ZERO);
    }

    static void run(String job, Supplier<LockProvider> process) throws Exception {
        var first = process.get().lock(atMost(job, 1)).orElseThrow();
        boolean early = process.get().lock(atMost(job, 60)).isPresent();
        Thread.sleep(1500);
        var second = process.get().lock(atMost(job, 60)).orElseThrow();
        first.unlock();
        System.out.println(job + " early " + early + " third " + process.get().lock(atMost(job, 60)).isPresent());
    }

    public static void main(String[] args) throws Exception {
        var factory = new JedisConnectionFactory(new RedisStandaloneConfiguration("127.0.0.1", Integer.parseInt(args[0])));
        factory.start();
        run("redis", () -> new RedisLockProvider(factory));
        run("redis-safe", () -> new RedisLockProvider.Builder(factory).safeUpdate(true).build());
        var database = new JdbcTemplate(new DriverManagerDataSource("jdbc:h2:mem:shop;DB_CLOSE_DELAY=-1"));
        database.execute("CREATE TABLE shedlock (name VARCHAR(64) PRIMARY KEY, lock_until TIMESTAMP NOT NULL,"
                + " locked_at TIMESTAMP NOT NULL, locked_by VARCHAR(255) NOT NULL)");
        var settings = JdbcTemplateLockProvider.Configuration.builder().withJdbcTemplate(database).usingDbTime();
        run("jdbc", () -> new JdbcTemplateLockProvider(settings.build()));
        int[] processes = {0};
        run("jdbc-named", () -> new JdbcTemplateLockProvider(settings.withLockedByValue("p" + processes[0]++).build()));
        Runtime.getRuntime().halt(0);
    }
}
JAVA
mapfile -t found < <(probe "$port")
seen "Redis" "redis early false third true" "${found[0]:-}"
seen "Redis with safeUpdate" "redis-safe early false third false" "${found[1]:-}"
seen "JDBC" "jdbc early false third true" "${found[2]:-}"
seen "JDBC with a name for each process" "jdbc-named early false third false" "${found[3]:-}"
verdict
