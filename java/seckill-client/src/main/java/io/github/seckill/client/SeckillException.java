package io.github.seckill.client;

import org.jspecify.annotations.Nullable;

/**
 * A mistake or a failure, never an outcome. There is one type for each code word, the first word of
 * the server's error.
 */
public abstract sealed class SeckillException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    /** The code word. */
    private final String code;

    private SeckillException(String code, String message, @Nullable Throwable cause) {
        super(message, cause);
        this.code = code;
    }

    /**
     * The code word of the server's error.
     *
     * @return the word, or {@code NOANSWER}, {@code NOCONNECTION}, {@code BUSY}, {@code LOCKLOST}
     *     and {@code REPLY} for what this library says itself
     */
    public final String code() {
        return code;
    }

    /**
     * Makes the exception of an error reply.
     *
     * @param error the whole text of the error, the code word first
     * @return the exception of its code word
     */
    public static SeckillException of(String error) {
        return of(error, null);
    }

    /**
     * Makes the exception of an error reply.
     *
     * @param error the whole text of the error, the code word first
     * @param cause what the Redis client threw
     * @return the exception of its code word
     */
    public static SeckillException of(String error, @Nullable Throwable cause) {
        int space = error.indexOf(' ');
        String code = space < 0 ? error : error.substring(0, space);
        return switch (code) {
            case "NOVOUCHER" -> new NoVoucher(error, cause);
            case "EXISTS" -> new VoucherExists(error, cause);
            case "ORDERID" -> new OrderIdTaken(error, cause);
            case "HELD" -> new OrdersHeld(error, cause);
            case "PAID" -> new PaidOtherwise(error, cause);
            case "STOCK" -> new StockTooSmall(error, cause);
            case "NOENTRY" -> new NoEntry(error, cause);
            case "NOGROUP" -> new NoGroup(error, cause);
            case "WRONGTYPE" -> new WrongType(error, cause);
            case "TRYAGAIN", "MOVED", "ASK", "CLUSTERDOWN", "LOADING", "MASTERDOWN", "READONLY",
                    "NOREPLICAS" ->
                    new NotNow(code, error, cause);
            default ->
                    error.startsWith("ERR unknown command")
                            ? new ModuleMissing(error, cause)
                            : new Refused(code, error, cause);
        };
    }

    /**
     * Makes the exception of a command that was not sent, as there is no connection.
     *
     * @param cause what the Redis client threw
     * @return an exception that says that nothing was done
     */
    public static SeckillException notConnected(Throwable cause) {
        String message = "NOCONNECTION no connection to the server: " + cause.getMessage();
        return new NotNow("NOCONNECTION", message, cause);
    }

    static SeckillException unexpected(String what) {
        String message = "The server replied what this library does not know: " + what;
        return new UnexpectedReply(message, null);
    }

    /** The same with the stack of the current thread, since it came up on another one. */
    final SeckillException thrownHere() {
        String message = String.valueOf(getMessage());
        if (this instanceof NotNow) {
            return new NotNow(code, message, this);
        }
        return switch (code) {
            case "NOANSWER" -> new NoAnswer(message, this);
            case "BUSY" -> new Busy(message, this);
            case "LOCKLOST" -> new LockLost(message, this);
            case "REPLY" -> new UnexpectedReply(message, this);
            default -> of(message, this);
        };
    }

    /** {@code NOVOUCHER}: there is no stock key, or the voucher is not managed. */
    public static final class NoVoucher extends SeckillException {
        private static final long serialVersionUID = 1L;

        private NoVoucher(String message, @Nullable Throwable cause) {
            super("NOVOUCHER", message, cause);
        }
    }

    /** {@code EXISTS}: the voucher to be created has keys already. */
    public static final class VoucherExists extends SeckillException {
        private static final long serialVersionUID = 1L;

        private VoucherExists(String message, @Nullable Throwable cause) {
            super("EXISTS", message, cause);
        }
    }

    /** {@code ORDERID}: the order id belongs to an order of another user or of other units. */
    public static final class OrderIdTaken extends SeckillException {
        private static final long serialVersionUID = 1L;

        private OrderIdTaken(String message, @Nullable Throwable cause) {
            super("ORDERID", message, cause);
        }
    }

    /** {@code HELD}: the voucher can't be dropped while orders are held. */
    public static final class OrdersHeld extends SeckillException {
        private static final long serialVersionUID = 1L;

        private OrdersHeld(String message, @Nullable Throwable cause) {
            super("HELD", message, cause);
        }
    }

    /** {@code PAID}: the order was paid under another reference. Somebody may have paid twice. */
    public static final class PaidOtherwise extends SeckillException {
        private static final long serialVersionUID = 1L;

        private PaidOtherwise(String message, @Nullable Throwable cause) {
            super("PAID", message, cause);
        }
    }

    /** {@code STOCK}: fewer units are left than are to be taken away. */
    public static final class StockTooSmall extends SeckillException {
        private static final long serialVersionUID = 1L;

        private StockTooSmall(String message, @Nullable Throwable cause) {
            super("STOCK", message, cause);
        }
    }

    /** {@code NOENTRY}: the entry is pending, but it is no longer in the stream. */
    public static final class NoEntry extends SeckillException {
        private static final long serialVersionUID = 1L;

        private NoEntry(String message, @Nullable Throwable cause) {
            super("NOENTRY", message, cause);
        }
    }

    /** {@code NOGROUP}: there is no such stream, or it has no such consumer group. */
    public static final class NoGroup extends SeckillException {
        private static final long serialVersionUID = 1L;

        private NoGroup(String message, @Nullable Throwable cause) {
            super("NOGROUP", message, cause);
        }
    }

    /** {@code WRONGTYPE}: a key is of another type than the command needs. */
    public static final class WrongType extends SeckillException {
        private static final long serialVersionUID = 1L;

        private WrongType(String message, @Nullable Throwable cause) {
            super("WRONGTYPE", message, cause);
        }
    }

    /**
     * The server can't do it at the moment and did nothing: {@code TRYAGAIN}, {@code CLUSTERDOWN},
     * {@code LOADING}, {@code MASTERDOWN}, {@code READONLY}, {@code NOREPLICAS}, or a redirection
     * that led nowhere, {@code MOVED} or {@code ASK}. Or no connection could be opened, {@code
     * NOCONNECTION}. The client has sent the command again until the end of {@link
     * SeckillOptions#retryFor()}.
     */
    public static final class NotNow extends SeckillException {
        private static final long serialVersionUID = 1L;

        private NotNow(String code, String message, @Nullable Throwable cause) {
            super(code, message, cause);
        }
    }

    /** The server does not know the command: the module is not loaded there. */
    public static final class ModuleMissing extends SeckillException {
        private static final long serialVersionUID = 1L;

        private ModuleMissing(String message, @Nullable Throwable cause) {
            super("ERR", message, cause);
        }
    }

    /** Any other error of the server: {@code ERR}, {@code OOM}, {@code NOPERM} and so on. */
    public static final class Refused extends SeckillException {
        private static final long serialVersionUID = 1L;

        private Refused(String code, String message, @Nullable Throwable cause) {
            super(code, message, cause);
        }
    }

    /**
     * No answer came, and sending the command again was not safe or had no answer either. It may
     * have been carried out. Tries never end so: theirs is {@link Outcome#UNKNOWN}.
     */
    public static final class NoAnswer extends SeckillException {
        private static final long serialVersionUID = 1L;

        /**
         * Makes one.
         *
         * @param message what was waited for
         * @param cause what the Redis client threw, if anything
         */
        public NoAnswer(String message, @Nullable Throwable cause) {
            super("NOANSWER", message, cause);
        }
    }

    /** Too many tries wait in this client to be sent. This one was not sent. */
    public static final class Busy extends SeckillException {
        private static final long serialVersionUID = 1L;

        Busy(String message, @Nullable Throwable cause) {
            super("BUSY", message, cause);
        }
    }

    /** A lock is no longer this holder's: its lease has ended, or its connection was lost. */
    public static final class LockLost extends SeckillException {
        private static final long serialVersionUID = 1L;

        LockLost(String message, @Nullable Throwable cause) {
            super("LOCKLOST", message, cause);
        }
    }

    /** A reply that this version of the library does not know. */
    public static final class UnexpectedReply extends SeckillException {
        private static final long serialVersionUID = 1L;

        private UnexpectedReply(String message, @Nullable Throwable cause) {
            super("REPLY", message, cause);
        }
    }
}
