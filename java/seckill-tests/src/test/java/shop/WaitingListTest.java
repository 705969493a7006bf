package shop;

import static io.github.seckill.client.Commands.*;
import static org.assertj.core.api.Assertions.assertThat;

import io.github.seckill.client.*;
import io.lettuce.core.Range;
import java.time.Duration;
import java.time.Instant;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Orders that wait in line for units, by a client that remembers what is sold out. */
class WaitingListTest {
    @AutoClose private Shop shop;
    private SeckillClient client;

    private static Try<Outcome> join(String user, long units) {
        return tryBuy("7", user, user + "1", units).waitlist();
    }

    private Order order(String orderId) {
        return client.run(Commands.order("7", orderId)).orElseThrow();
    }

    @ParameterizedTest
    @MethodSource("shop.Shop#servers")
    void an_order_in_line_is_served_when_the_head_leaves(String program) throws Exception {
        shop = new Shop(program);
        client = shop.client(Shop.REMEMBER);
        client.run(create("7", 2, SaleRules.none().hold(Duration.ofMinutes(10)).limit(2)));
        OrderRef alices = OrderRef.of("7", "alice", "alice1");
        assertThat(client.run(tryBuy("7", "alice", "alice1", 2))).isEqualTo(Outcome.ACCEPTED);
        Shop.awaitMemory(client, shop.remembered);

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
        client.run(alter("7", SaleRules.none().end(Instant.ofEpochMilli(1))));
        assertThat(order(doras).state()).isEqualTo(OrderState.EXPIRED);
        assertThat(client.run(audit("7")).isSound()).isTrue();
    }
}
