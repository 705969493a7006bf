package shop;

import static io.github.seckill.client.Commands.audit;
import static io.github.seckill.client.Commands.create;
import static org.assertj.core.api.Assertions.assertThat;

import io.github.seckill.client.Outcome;
import io.github.seckill.client.SaleRules;
import io.github.seckill.spring.SeckillTemplate;
import io.github.seckill.test.SeckillServer;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledForJreRange;
import org.junit.jupiter.api.condition.JRE;

/** Many more buyers and holders of a lock than the machine has threads to carry them. */
@EnabledForJreRange(min = JRE.JAVA_21)
class VirtualThreadsTest {
    private static final int BUYERS = 1_000;
    private static final int STOCK = 200;
    private static final int HOLDERS = 50;

    private int underLock;

    private static ExecutorService virtualThreads() throws ReflectiveOperationException {
        // Compiled for Java 17.
        Object executor = Executors.class.getMethod("newVirtualThreadPerTaskExecutor").invoke(null);
        return (ExecutorService) executor;
    }

    @Test
    void theyBuyAndTakeTurns() throws Exception {
        ExecutorService threads = virtualThreads();
        try (SeckillServer server = SeckillServer.start();
                var context = Application.run(
                        Application.class, server, "seckill.retry-for=60s")) {
            SeckillTemplate template = context.getBean(SeckillTemplate.class);
            template.run(create("7", STOCK, SaleRules.none()));
            List<Future<Outcome>> outcomes = IntStream.range(0, BUYERS).mapToObj(i ->
                    threads.submit(() -> template.tryBuy("7", "b" + i, "b" + i))).toList();
            Duration wait = Duration.ofSeconds(60);
            var turns = IntStream.range(0, HOLDERS).mapToObj(i -> threads.submit(() ->
                    template.underLock("lock:turns", wait, lock -> underLock++))).toList();
            int accepted = 0;
            for (Future<Outcome> outcome : outcomes) {
                accepted += outcome.get() == Outcome.ACCEPTED ? 1 : 0;
            }
            for (Future<?> turn : turns) {
                turn.get();
            }
            assertThat(accepted).isEqualTo(STOCK);
            assertThat(underLock).isEqualTo(HOLDERS);
            assertThat(template.run(audit("7")).isSound()).isTrue();
        } finally {
            threads.shutdownNow();
        }
    }
}
