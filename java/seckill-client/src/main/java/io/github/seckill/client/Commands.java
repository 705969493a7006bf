package io.github.seckill.client;

import io.github.seckill.client.Command.Reply;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;

/** The commands of the module, and which of them may be repeated. */
final class Commands {
    private static final boolean REPEATABLE = true;
    private static final boolean ONCE = false;

    private Commands() {}

    static Command tryOne(String voucher, String user, String orderId, long units) {
        List<String> arguments = list(voucher, user, orderId);
        if (units != 1) {
            arguments.add("UNITS");
            arguments.add(Long.toString(units));
        }
        return new Command("SECKILL.TRY", arguments, Reply.INTEGER, ONCE);
    }

    static Command tryWithIdOfServer(String voucher, String user) {
        return new Command("SECKILL.TRY", list(voucher, user, "*"), Reply.ARRAY, ONCE);
    }

    /** Takes pairs of a user and an order id. */
    static Command tryMany(String voucher, List<String> pairs) {
        List<String> arguments = new ArrayList<>(1 + pairs.size());
        arguments.add(voucher);
        arguments.addAll(pairs);
        return new Command("SECKILL.MTRY", arguments, Reply.ARRAY, ONCE);
    }

    static Command tryKeys(KeyedTry attempt) {
        String stream = attempt.orderStream();
        List<String> arguments =
                list(
                        attempt.stockKey(),
                        attempt.buyersKey(),
                        stream == null ? attempt.stockKey() : stream,
                        attempt.voucher(),
                        attempt.user(),
                        attempt.orderId());
        if (attempt.units() != 1) {
            arguments.add("UNITS");
            arguments.add(Long.toString(attempt.units()));
        }
        if (stream == null) {
            arguments.add("NOSTREAM");
        }
        KeyedTry.Fields fields = attempt.fields();
        if (fields != null) {
            arguments.addAll(List.of("FIELDS", fields.user(), fields.voucher(), fields.orderId()));
        }
        if (attempt.missingIsSoldOut()) {
            arguments.addAll(List.of("MISSING", "sold-out"));
        }
        return new Command("SECKILL.TRYKEYS", arguments, Reply.INTEGER, ONCE);
    }

    static Command create(String voucher, String stock, SaleRules rules) {
        List<String> arguments = list(voucher, stock);
        addRules(arguments, rules);
        return new Command("SECKILL.CREATE", arguments, Reply.TEXT, ONCE);
    }

    static Command alter(String voucher, SaleRules rules) {
        List<String> arguments = list(voucher);
        addRules(arguments, rules);
        return new Command("SECKILL.ALTER", arguments, Reply.TEXT, REPEATABLE);
    }

    private static void addRules(List<String> arguments, SaleRules rules) {
        Instant begin = rules.begin();
        if (begin != null) {
            arguments.add("BEGIN");
            arguments.add(Long.toString(begin.toEpochMilli()));
        }
        Instant end = rules.end();
        if (end != null) {
            arguments.add("END");
            arguments.add(Long.toString(end.toEpochMilli()));
        }
        Long limit = rules.limit();
        if (limit != null) {
            arguments.add("LIMIT");
            arguments.add(limit.toString());
        }
        Duration hold = rules.hold();
        if (hold != null) {
            arguments.add("HOLD");
            arguments.add(Long.toString(hold.toMillis()));
        }
    }

    static Command restock(String voucher, long delta) {
        List<String> arguments = list(voucher, Long.toString(delta));
        return new Command("SECKILL.RESTOCK", arguments, Reply.INTEGER, ONCE);
    }

    static Command drop(String voucher, boolean release) {
        List<String> arguments = list(voucher);
        if (release) {
            arguments.add("FORCE");
        }
        return new Command("SECKILL.DROP", arguments, Reply.INTEGER, ONCE);
    }

    static Command confirm(OrderRef order) {
        return ofOrder("SECKILL.CONFIRM", order, List.of(), REPEATABLE);
    }

    static Command confirm(OrderRef order, String paymentRef) {
        return ofOrder("SECKILL.CONFIRM", order, List.of("REF", paymentRef), REPEATABLE);
    }

    /** Repeatable only on a managed voucher. */
    static Command cancel(OrderRef order) {
        return ofOrder("SECKILL.CANCEL", order, List.of(), ONCE);
    }

    static Command cancelIf(OrderRef order, OrderState state) {
        if (state != OrderState.HELD && state != OrderState.SOLD) {
            throw new IllegalArgumentException("state must be HELD or SOLD: " + state);
        }
        return ofOrder("SECKILL.CANCEL", order, List.of("IF", state.word()), REPEATABLE);
    }

    static Command extend(OrderRef order, Duration time) {
        List<String> more = List.of(Long.toString(time.toMillis()));
        return ofOrder("SECKILL.EXTEND", order, more, REPEATABLE);
    }

    private static Command ofOrder(
            String name, OrderRef order, List<String> more, boolean repeatable) {
        List<String> arguments = list(order.voucher(), order.user(), order.orderId());
        arguments.addAll(more);
        Long sale = order.sale();
        if (sale != null) {
            arguments.add("SALE");
            arguments.add(sale.toString());
        }
        return new Command(name, arguments, Reply.INTEGER, repeatable);
    }

    static Command order(String voucher, String orderId) {
        return new Command("SECKILL.ORDER", list(voucher, orderId), Reply.ARRAY, REPEATABLE);
    }

    static Command status(String voucher, String user) {
        return new Command("SECKILL.STATUS", list(voucher, user), Reply.ARRAY, REPEATABLE);
    }

    static Command info(String voucher) {
        return new Command("SECKILL.INFO", list(voucher), Reply.ARRAY, REPEATABLE);
    }

    static Command audit(String voucher, String cursor) {
        List<String> arguments = list(voucher, "CURSOR", cursor);
        return new Command("SECKILL.AUDIT", arguments, Reply.ARRAY, REPEATABLE);
    }

    static Command reject(String stream, String group, String entryId, String reason) {
        List<String> arguments = list(stream, group, entryId, "REASON", reason);
        return new Command("SECKILL.REJECT", arguments, Reply.INTEGER, REPEATABLE);
    }

    static Command deadLetters(String stream, String after, int count) {
        List<String> arguments =
                list(stream + ".dlq", "(" + after, "+", "COUNT", Integer.toString(count));
        return new Command("XRANGE", arguments, Reply.ARRAY, REPEATABLE);
    }

    /** A repetition makes other ids, and the first ones stay unused. */
    static Command nextIds(String prefix, int count) {
        List<String> arguments = list(prefix, "COUNT", Integer.toString(count));
        return new Command("SECKILL.NEXTID", arguments, Reply.TEXT, REPEATABLE);
    }

    static Command deduct(String key, long units) {
        List<String> arguments = list(key, Long.toString(units));
        return new Command("SECKILL.DEDUCT", arguments, Reply.INTEGER, ONCE);
    }

    static Command restore(String key, long units) {
        List<String> arguments = list(key, Long.toString(units));
        return new Command("SECKILL.RESTORE", arguments, Reply.INTEGER, ONCE);
    }

    static Command draw(String pool, String user) {
        return new Command("SECKILL.DRAW", list(pool, user), Reply.ARRAY, REPEATABLE);
    }

    static Command undraw(String pool, String user) {
        return new Command("SECKILL.UNDRAW", list(pool, user), Reply.INTEGER, ONCE);
    }

    static Command acquire(String key, String token, LockOptions options, long waitMs) {
        List<String> arguments = list(key, token, Long.toString(options.lease().toMillis()));
        if (waitMs > 0) {
            arguments.add("WAIT");
            arguments.add(Long.toString(waitMs));
        }
        if (options.fenced()) {
            arguments.add("FENCE");
        }
        if (options.session()) {
            arguments.add("SESSION");
        }
        return new Command("LOCK.ACQUIRE", arguments, Reply.INTEGER, REPEATABLE);
    }

    static Command renew(String key, String token, Duration lease) {
        List<String> arguments = list(key, token, Long.toString(lease.toMillis()));
        return new Command("LOCK.RENEW", arguments, Reply.INTEGER, REPEATABLE);
    }

    static Command release(String key, String token) {
        return new Command("LOCK.RELEASE", list(key, token), Reply.INTEGER, REPEATABLE);
    }

    private static List<String> list(String... arguments) {
        return new ArrayList<>(List.of(arguments));
    }
}
