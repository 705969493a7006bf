package io.github.seckill.client;

import io.lettuce.core.RedisCommandExecutionException;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeoutException;
import org.jspecify.annotations.Nullable;

/** A mistake or a failure, never an outcome. {@link #code()} says which. */
@SuppressWarnings("serial") // None is ever stored.
public sealed class SeckillException extends RuntimeException {
    private final Code code;
    private final String word;

    private SeckillException(Code code, String word, String message, @Nullable Throwable cause) {
        super(message, cause);
        this.code = code;
        this.word = word;
    }

    /** Mistakes and failures. Those of the server are named as the code words of its errors. */
    public enum Code {
        /** There is no stock key, or the voucher is not managed. */
        NOVOUCHER,
        /** The voucher to be created has keys already. */
        BUSYKEY,
        /** The order id belongs to an order of another user or of other units. */
        ORDERID,
        /** The voucher can't be dropped while orders are held. */
        HELD,
        /** The payment is on record for another order or sale: it never pays two. */
        REF,
        /** The payment is on record for another number of units. */
        UNITS,
        /** The voucher has another sale than the one that was named. */
        SALE,
        /** Fewer units are left than are to be taken away. */
        STOCK,
        /** A key of the sale is missing, and without it no unit can be released or promoted. */
        INCOMPLETE,
        /** The entry is pending, but it is no longer in the stream. */
        NOENTRY,
        /** There is no such stream, or it has no such consumer group. */
        NOGROUP,
        /** A key is of another type than the command needs. */
        WRONGTYPE,
        /** The server does not know the command: the module is not loaded there. */
        NOMODULE,
        /** Any other error of the server. {@link SeckillException#word()} says which. */
        OTHER,
        /** Nothing was done: {@link NotNow}. */
        NOTNOW,
        /** It may have been done: {@link NoAnswer}. */
        NOANSWER,
        /** It was not sent: {@link Busy}. */
        BUSY,
        /** The lock is no longer this holder's: {@link LockLost}. */
        LOCKLOST,
        /** A reply that this version of the library does not know. */
        REPLY
    }

    public final Code code() {
        return code;
    }

    /** The name of the code; of OTHER and NOTNOW the server's word, or {@code NOCONNECTION}. */
    public final String word() {
        return word;
    }

    /** Makes the exception of an error reply. */
    static SeckillException of(String error, @Nullable Throwable cause) {
        int space = error.indexOf(' ');
        String word = space < 0 ? error : error.substring(0, space);
        return switch (word) {
            case "NOVOUCHER", "BUSYKEY", "ORDERID", "HELD", "REF", "UNITS", "SALE", "STOCK",
                    "INCOMPLETE", "NOENTRY", "NOGROUP", "WRONGTYPE" ->
                    new SeckillException(Code.valueOf(word), word, error, cause);
            case "TRYAGAIN", "MOVED", "ASK", "CLUSTERDOWN", "LOADING", "MASTERDOWN", "READONLY",
                    "NOREPLICAS", "BUSY" ->
                    new NotNow(word, error, cause);
            default ->
                    error.startsWith("ERR unknown command")
                            ? own(Code.NOMODULE, error, cause)
                            : new SeckillException(Code.OTHER, word, error, cause);
        };
    }

    /** What is known of a command that has failed so, whichever stages the failure has passed. */
    static SeckillException of(Throwable failed) {
        Throwable inner = failed;
        while ((inner instanceof CompletionException || inner instanceof ExecutionException)
                && inner.getCause() != null) {
            inner = inner.getCause();
        }
        if (inner instanceof SeckillException said) {
            return said;
        }
        return inner instanceof RedisCommandExecutionException
                ? of(String.valueOf(inner.getMessage()), inner)
                : new NoAnswer("NOANSWER " + inner, inner);
    }

    private static SeckillException own(Code code, String message, @Nullable Throwable cause) {
        return new SeckillException(code, code.name(), message, cause);
    }

    /** Makes the exception of a command that was not sent, as there is no connection. */
    static SeckillException notConnected(Throwable cause) {
        String why = cause instanceof TimeoutException ? "it took too long" : Printable.why(cause);
        String message = "NOCONNECTION no connection to the server: " + why;
        return new NotNow("NOCONNECTION", message, cause);
    }

    static SeckillException closed() {
        return new NotNow("NOCONNECTION", "NOCONNECTION the client is closed", null);
    }

    static SeckillException unexpected(String what) {
        String message = "The server replied what this library does not know: " + what;
        return own(Code.REPLY, message, null);
    }

    /** The same with the stack of the current thread, since it came up on another one. */
    final SeckillException thrownHere() {
        String message = String.valueOf(getMessage());
        return switch (code) {
            case NOTNOW -> new NotNow(word, message, this);
            case NOANSWER -> new NoAnswer(message, this);
            case BUSY -> new Busy(message, this);
            case LOCKLOST -> new LockLost(message, this);
            default -> new SeckillException(code, word, message, this);
        };
    }

    /**
     * Nothing was done: the server can't do it at the moment ({@code TRYAGAIN}, {@code READONLY},
     * {@code BUSY} and so on), no connection could be opened, or the client is closed. It was sent
     * again until the end of {@link SeckillOptions#retryFor}.
     */
    public static final class NotNow extends SeckillException {
        private NotNow(String word, String message, @Nullable Throwable cause) {
            super(Code.NOTNOW, word, message, cause);
        }
    }

    /** No answer came: it may have been done. That of tries is {@link Outcome#UNKNOWN}. */
    public static final class NoAnswer extends SeckillException {
        NoAnswer(String message, @Nullable Throwable cause) {
            super(Code.NOANSWER, Code.NOANSWER.name(), message, cause);
        }
    }

    /** It was not sent: too many tries wait in this client, or its thread was interrupted. */
    public static final class Busy extends SeckillException {
        Busy(String message, @Nullable Throwable cause) {
            super(Code.BUSY, Code.BUSY.name(), message, cause);
        }
    }

    /** A lock is no longer this holder's: its lease has ended, or its connection was lost. */
    public static final class LockLost extends SeckillException {
        LockLost(String message, @Nullable Throwable cause) {
            super(Code.LOCKLOST, Code.LOCKLOST.name(), message, cause);
        }
    }
}
