package io.github.seckill.client;

import static io.github.seckill.client.Commands.*;
import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.reactivestreams.Subscriber;
import org.reactivestreams.Subscription;

/** Publishers: what is sent when, and what a subscriber is told. No server. */
class ReactiveTest {
    private final FakeTransport wire = new FakeTransport();
    private final SeckillClient client = SeckillClient.create(wire);

    @AfterEach
    void close() {
        client.close();
    }

    /** Writes down what it is told. */
    private static final class Log<T> implements Subscriber<T> {
        private final List<String> told = new ArrayList<>();
        private @Nullable Subscription subscription;

        @Override
        public void onSubscribe(Subscription given) {
            subscription = given;
        }

        @Override
        public void onNext(T element) {
            told.add(String.valueOf(element));
        }

        @Override
        public void onError(Throwable failure) {
            told.add(failure.getClass().getSimpleName());
        }

        @Override
        public void onComplete() {
            told.add("complete");
        }

        Subscription subscription() {
            if (subscription == null) {
                throw new AssertionError("not subscribed");
            }
            return subscription;
        }
    }

    @Test
    void a_try_is_sent_when_something_is_requested() {
        Log<Outcome> log = new Log<>();
        client.publish(tryBuy("7", "alice", "o1")).subscribe(log);
        assertThat(wire.count()).isZero();
        log.subscription().request(1);
        log.subscription().request(5);
        assertThat(wire.count()).isEqualTo(1);
        wire.answer(0, 0L);
        assertThat(log.told).containsExactly("ACCEPTED", "complete");
    }

    @Test
    void each_subscriber_sends_its_own() {
        var publisher = client.publish(info("7"));
        for (int i = 0; i < 2; i++) {
            Log<SaleInfo> log = new Log<>();
            publisher.subscribe(log);
            log.subscription().request(1);
        }
        assertThat(wire.count()).isEqualTo(2);
    }

    @Test
    void a_mistake_is_an_error_and_nothing_is_an_empty_stream() {
        Log<Outcome> log = new Log<>();
        client.publish(tryBuy("7", "alice", "o1")).subscribe(log);
        log.subscription().request(1);
        wire.fail(0, "NOVOUCHER no stock key for this voucher");
        assertThat(log.told).containsExactly("SeckillException");

        Log<Optional<Order>> none = new Log<>();
        client.publish(order("7", "o1")).subscribe(none);
        none.subscription().request(1);
        wire.answer(1, null);
        assertThat(none.told).containsExactly("Optional.empty", "complete");

        Log<Void> done = new Log<>();
        client.publish(create("7", 1, SaleRules.none())).subscribe(done);
        done.subscription().request(1);
        wire.answer(2, "OK");
        assertThat(done.told).containsExactly("complete");
    }

    @Test
    void whoever_cancels_before_the_try_is_sent_keeps_it_from_being_sent() {
        Log<Outcome> first = new Log<>();
        client.publish(tryBuy("7", "alice", "o1")).subscribe(first);
        first.subscription().request(1);
        Log<Outcome> second = new Log<>();
        client.publish(tryBuy("7", "bob", "o2")).subscribe(second);
        second.subscription().request(1);
        Log<Outcome> third = new Log<>();
        client.publish(tryBuy("7", "carol", "o3")).subscribe(third);
        third.subscription().request(1);
        second.subscription().cancel();
        wire.answer(0, 1L);
        assertThat(wire.arguments(1)).containsExactly("carol", "o3");
        first.subscription().cancel();
        third.subscription().cancel();
        wire.answer(1, 1L);
        assertThat(first.told).containsExactly("SOLD_OUT", "complete");
        assertThat(second.told).isEmpty();
        assertThat(third.told).isEmpty();
    }

    @Test
    void a_request_of_nothing_is_an_error() {
        Log<Outcome> log = new Log<>();
        client.publish(tryBuy("7", "alice", "o1")).subscribe(log);
        log.subscription().request(0);
        assertThat(log.told).containsExactly("IllegalArgumentException");
        assertThat(wire.count()).isZero();
    }
}
