package io.github.seckill.samples.shop;

import java.util.*;
import java.util.concurrent.Callable;
import org.springframework.http.*;
import org.springframework.web.client.RestClient;

/** A buyer who does what buyers do, and remembers what the shop has answered. */
final class Buyer implements Callable<Buyer> {
    private final Http http;
    private final long sale;
    private final String user;
    private final Manner manner;
    private final String orderId = UUID.randomUUID().toString();
    private int bought;
    private int paid;
    private int cancelled;

    Buyer(Http http, long sale, String user, Manner manner) {
        this.http = http;
        this.sale = sale;
        this.user = user;
        this.manner = manner;
    }

    /** What a buyer does who has got a unit. */
    enum Manner {
        PAYS,
        /** Sends everything twice, as after a time-out. */
        PAYS_TWICE,
        /** Pays a second time, with another reference. */
        PAYS_AGAIN,
        /** Pays, and cancels then. */
        RETURNS,
        CANCELS,
        FORGETS,
        /** Pays when the deadline has passed. */
        PAYS_LATE;

        static Manner of(int number) {
            return switch (number % 10) {
                case 0, 1 -> PAYS;
                case 2 -> PAYS_AGAIN;
                case 3 -> RETURNS;
                case 4, 5 -> PAYS_TWICE;
                case 6, 7 -> CANCELS;
                case 8 -> FORGETS;
                default -> PAYS_LATE;
            };
        }
    }

    @Override
    public Buyer call() {
        bought = http.put(order(), "", user);
        if (manner == Manner.PAYS_TWICE && http.put(order(), "", user) == 200) {
            // Also the second of the two may be accepted: units that were sold out may be back.
            bought = 200;
        }
        if (accepted()) {
            switch (manner) {
                case PAYS -> pay();
                case PAYS_TWICE -> {
                    int first = pay();
                    if (pay() != first) {
                        throw new IllegalStateException(orderId + " was paid differently");
                    }
                }
                case PAYS_AGAIN -> {
                    if (pay() == 204 && pay("again-" + orderId) != 409) {
                        throw new IllegalStateException(orderId + " was paid by two payments");
                    }
                }
                case RETURNS -> {
                    pay();
                    cancel();
                }
                case CANCELS -> cancel();
                case FORGETS, PAYS_LATE -> { }
            }
        }
        return this;
    }

    int pay() {
        paid = pay("payment-" + orderId);
        return paid;
    }

    private int pay(String reference) {
        return known(http.put(
                order() + "/payment?sale=" + sale + "&reference=" + reference, "", user), 204, 409);
    }

    private void cancel() {
        cancelled = known(http.send(HttpMethod.DELETE, order(), "", user), 204, 409);
    }

    /** An answer that says where the order stands now; after others nobody could tell its row. */
    private static int known(int status, int done, int refused) {
        if (status != done && status != refused) {
            throw new IllegalStateException("the shop has answered " + status);
        }
        return status;
    }

    private String order() {
        return "/sales/phone/orders/" + orderId;
    }

    String orderId() {
        return orderId;
    }

    boolean accepted() {
        return known(bought, 200, 409) == 200;
    }

    boolean isLate() {
        return accepted() && manner == Manner.PAYS_LATE;
    }

    /** The state that the order must be in by what the shop has answered, perhaps one of two. */
    String state() {
        if (cancelled == 204) {
            // It may have expired before: it was released all the same.
            return paid == 204 ? "cancelled" : "cancelled|expired";
        }
        return paid == 204 ? "sold" : "expired";
    }

    /** The payment that is to be refunded by what the shop has answered, and why. */
    Optional<String> refund() {
        if (paid == 204 && cancelled == 204) {
            return Optional.of("payment-" + orderId + " cancelled");
        }
        if (paid == 409) {
            return Optional.of("payment-" + orderId + " late");
        }
        return paid == 204 && manner == Manner.PAYS_AGAIN
                ? Optional.of("again-" + orderId + " duplicate")
                : Optional.empty();
    }

    /** Requests to the shop, each answered by its status. */
    record Http(RestClient client) {
        Http(int port) {
            this(RestClient.create("http://127.0.0.1:" + port));
        }

        int put(String path, String json, String user) {
            return send(HttpMethod.PUT, path, json, user);
        }

        int send(HttpMethod method, String path, String json, String user) {
            return client.method(method).uri(path).header("X-User", user)
                    .contentType(MediaType.APPLICATION_JSON).body(json)
                    .exchange((request, response) -> response.getStatusCode().value());
        }
    }
}
