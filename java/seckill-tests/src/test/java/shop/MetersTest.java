package shop;

import static org.assertj.core.api.Assertions.assertThat;
import static shop.Until.await;

import io.github.seckill.client.*;
import io.github.seckill.client.SeckillException.Code;
import io.github.seckill.spring.OrderFailurePolicy;
import io.github.seckill.test.SeckillServer;
import io.micrometer.core.instrument.*;
import io.micrometer.core.instrument.Timer;
import java.nio.file.Files;
import java.util.*;
import java.util.regex.*;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledIf;
import org.springframework.context.annotation.Bean;
import shop.documented.Pages;

/** The meters and tags of docs/java-reference.md are those of an application to which all of it happens. */
@EnabledIf("shop.documented.Pages#areHere")
class MetersTest {
    @AutoClose private final SeckillServer server = SeckillServer.start();

    static class GivesUp extends Application {
        @Bean
        OrderFailurePolicy policy() {
            return failure -> OrderFailurePolicy.Decision.DEAD_LETTER;
        }
    }

    @Test
    void thePageHasEveryMeterWithItsTags() throws Exception {
        Application.work = event -> {
            if (event.order().user().startsWith("bad")) {
                throw new IllegalStateException("row refused");
            }
        };
        Map<String, Set<String>> recorded = new TreeMap<>();
        try (var context = Application.run(GivesUp.class, server)) {
            MeterRegistry meters = context.getBean(MeterRegistry.class);
            SeckillClient seckill = context.getBean(SeckillClient.class);
            seckill.create("7", 10, SaleRules.none());
            seckill.tryBuy("7", "bad", "b0");
            seckill.tryBuy("7", "good", "g0");
            await().until(() -> meters.find("seckill.listener.dead.letter").counter() != null);
            for (int i = 1; i < 9; i++) {
                seckill.tryBuy("7", "bad" + i, "b" + i);
            }
            await().until(() ->
                    meters.get("seckill.listener.intake.stopped").gauge().value() == 1);
            seckill.tryBuy("7", "late", "l1");
            // It may be observed a moment after the caller has the reply.
            await().until(() -> tries(meters, "sold_out") == 1);
            assertThat(tries(meters, "accepted")).isEqualTo(10);
            assertThat(meters.get("seckill.try.commands").functionCounter().count()).isEqualTo(11);
            assertThat(meters.get("seckill.listener").tag("group", "rows")
                    .tag("kind", "placed").timer().count()).isPositive();
            Until.fails(() -> seckill.tryBuy("none", "alice", "a1"), Code.NOVOUCHER);
            Until.fails(() -> seckill.tryAll("carl", "c1", Map.of("none", 1L)), Code.NOVOUCHER);
            seckill.create("8", 1, SaleRules.none());
            for (String user : List.of("carl", "cora")) {
                seckill.tryAll(user, user, Map.of("8", 1L));
            }
            for (String outcome : List.of("novoucher", "accepted", "sold_out")) {
                await().until(() -> meters.find("seckill.command").tag("command", "SECKILL.TRYALL")
                        .tag("outcome", outcome).timer() != null);
            }
            // Prometheus takes no second set of tags: those of a failure are those of a success.
            OrderRef none = OrderRef.of("none", "alice", "a1");
            Until.fails(() -> seckill.confirm(none, "p1"), Code.NOVOUCHER);
            await().until(() -> meters.find("seckill.command").tag("command", "SECKILL.CONFIRM")
                    .tag("outcome", "novoucher").timer() != null);
            for (String name : List.of("seckill.command", "seckill.listener")) {
                assertThat(meters.get(name).timers().stream()
                        .map(timer -> timer.getId().getTags().stream().map(Tag::getKey).toList())
                        .distinct()).hasSize(1);
            }
            meters.getMeters().stream().map(meter -> meter.getId())
                    .filter(id -> id.getName().matches("seckill[.].*"))
                    .filter(id -> !id.getName().endsWith(".active"))
                    .forEach(id -> recorded.computeIfAbsent(id.getName(), any -> new TreeSet<>())
                            .addAll(id.getTags().stream().map(Tag::getKey).toList()));
        }
        Map<String, Set<String>> documented = new TreeMap<>();
        Pattern row = Pattern.compile("(?m)^[|] `(seckill[a-z.]+)`[^|]*[|]([^|]*)[|][^|]*[|]$");
        for (MatchResult line : row.matcher(meterTable()).results().toList()) {
            documented.put(line.group(1), new TreeSet<>(Pattern.compile("(?<=`)[a-z]+(?=`)")
                    .matcher(line.group(2)).results().map(MatchResult::group).toList()));
        }
        assertThat(recorded).isEqualTo(documented);
    }

    private static long tries(MeterRegistry meters, String outcome) {
        return meters.find("seckill.command").tag("command", "SECKILL.TRY")
                .tag("outcome", outcome).timers().stream().mapToLong(Timer::count).sum();
    }

    private static String meterTable() throws Exception {
        String page = Files.readString(Pages.ROOT.resolve("docs/java-reference.md"));
        int from = page.indexOf("| meter |");
        return page.substring(from, page.indexOf("\n\n", from));
    }
}
