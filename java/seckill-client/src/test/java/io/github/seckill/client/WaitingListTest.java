package io.github.seckill.client;

import static io.github.seckill.client.Commands.*;
import static org.assertj.core.api.Assertions.assertThat;

import io.github.seckill.client.SeckillException.Code;
import io.lettuce.core.Range;
import java.time.Duration;
import java.time.Instant;
import java.util.stream.Stream;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Orders that wait in line for units, by a client that remembers what is sold out. */
class WaitingListTest {
    private static final SaleRules HELD = SaleRules.none().hold(Duration.ofMinutes(10));
    private static final SeckillOptions REMEMBER =
            SeckillOptions.defaults().rememberSoldOut(true).soldOutFor(Duration.ofHours(1));

    @AutoClose private Shop shop;
    private SeckillClient client;

    private void open(String program) {
        shop = new Shop(program);
        client = shop.client(REMEMBER);
    }

    static Stream<String> servers() {
        return Servers.all();
    }

    private static Try<Outcome> join(String user, long units) {
        return tryBuy("7", user, user + "1", units).waitlist();
    }

    private Order order(String orderId) {
        return client.run(Commands.order("7", orderId)).orElseThrow();
    }

    @ParameterizedTest
    @MethodSource("servers")
    void an_order_in_line_is_served_when_the_head_leaves(String program) throws Exception {
        open(program);
        client.run(create("7", 2, HELD.limit(2)));
        OrderRef alices = OrderRef.of("7", "alice", "alice1");
        assertThat(client.run(tryBuy("7", "alice", "alice1", 2))).isEqualTo(Outcome.ACCEPTED);
        Until.holds("remembered", () -> {
            assertThat(client.tryBuy("7", "zoe")).isInstanceOf(Purchase.Refused.class);
            return shop.remembered.get() > 0;
        });

        // What is remembered keeps nobody from the line.
        assertThat(client.run(join("bob", 2))).isEqualTo(Outcome.WAITING);
        assertThat(client.run(join("bob", 2))).isEqualTo(Outcome.WAITING);
        assertThat(client.run(reserve(join("carol", 1))))
                .isEqualTo(new Reservation.Waiting("carol1", 1, 2));
        String doras = ((Purchase.Waiting) client.run(tryBuy("7", "dora").waitlist())).orderId();
        assertThat(order("bob1").state()).isEqualTo(OrderState.WAITING);
        assertThat(order("bob1").position()).isEqualTo(1);
        assertThat(order(doras).position()).isEqualTo(3);
        assertThat(client.run(info("7")).waiting()).isEqualTo(3);
        assertThat(client.run(status("7", "bob")).orElseThrow().waiting()).isEqualTo(2);
        assertThat(client.run(audit("7")).waiting()).isEqualTo(3);

        // One unit returns: the first in line wants two, and nobody overtakes.
        assertThat(client.run(cancelAllBut(alices, 1))).isEqualTo(Cancellation.RELEASED);
        assertThat(client.tryBuy("7", "eve", "eve1")).isEqualTo(Outcome.SOLD_OUT);
        assertThat(order("carol1").position()).isEqualTo(2);
        OrderRef carols = OrderRef.of("7", "carol", "carol1");
        assertThat(client.run(confirm(carols))).isEqualTo(Confirmation.NO_ORDER);

        assertThat(client.run(cancel(OrderRef.of("7", "bob", "bob1"))))
                .isEqualTo(Cancellation.RELEASED);
        assertThat(client.run(join("bob", 2))).isEqualTo(Outcome.RELEASED);
        assertThat(order("bob1").was()).isEqualTo(OrderState.WAITING);
        assertThat(client.run(join("carol", 1))).isEqualTo(Outcome.ACCEPTED);
        assertThat(client.run(reserve("7", "carol", "carol1")))
                .isInstanceOf(Reservation.Held.class);
        assertThat(client.run(confirm(carols))).isEqualTo(Confirmation.CONFIRMED);
        assertThat(order(doras).position()).isEqualTo(1);
        assertThat(shop.plain.xrange("stream.orders", Range.unbounded()))
                .satisfiesExactly(
                        first -> assertThat(first.getBody()).doesNotContainKey("waited"),
                        served -> assertThat(served.getBody())
                                .containsEntry("id", "carol1").containsKey("waited"));
        assertThat(client.run(audit("7")).isSound()).isTrue();
    }

    @ParameterizedTest
    @MethodSource("servers")
    void whoever_waits_at_the_end_of_the_sale_is_released(String program) throws Exception {
        open(program);
        client.run(create("7", 1, HELD));
        assertThat(client.tryBuy("7", "alice", "alice1")).isEqualTo(Outcome.ACCEPTED);
        assertThat(client.run(join("bob", 1))).isEqualTo(Outcome.WAITING);
        client.run(alter("7", SaleRules.none().end(Instant.ofEpochMilli(1))));
        assertThat(order("bob1").state()).isEqualTo(OrderState.EXPIRED);
        assertThat(client.run(join("bob", 1))).isEqualTo(Outcome.RELEASED);
        assertThat(client.run(cancel(OrderRef.of("7", "bob", "bob1"))))
                .isEqualTo(Cancellation.ALREADY_RELEASED);
        assertThat(client.run(join("carol", 1))).isEqualTo(Outcome.ENDED);
        assertThat(client.run(info("7")).waiting()).isZero();
    }

    @ParameterizedTest
    @MethodSource("servers")
    void where_nobody_can_wait_it_says_so(String program) throws Exception {
        open(program);
        Until.fails(() -> client.run(join("bob", 1)), Code.NOVOUCHER);
        client.run(create("7", 1, SaleRules.none()));
        Until.fails(() -> client.run(join("bob", 1)), Code.OTHER);
        client.run(alter("7", HELD.limit(2)));
        assertThat(client.tryBuy("7", "alice", "alice1")).isEqualTo(Outcome.ACCEPTED);
        assertThat(client.run(join("bob", 2))).isEqualTo(Outcome.SOLD_OUT);
        shop.plain.configSet("seckill.waitlist-max", "0");
        assertThat(client.run(join("bob", 1))).isEqualTo(Outcome.SOLD_OUT);
        assertThat(client.run(info("7")).waiting()).isZero();
    }
}
