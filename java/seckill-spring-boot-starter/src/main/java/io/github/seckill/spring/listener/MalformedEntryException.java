package io.github.seckill.spring.listener;

/** An entry of a stream that is not an order: no command of the module writes such an entry. */
public final class MalformedEntryException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    MalformedEntryException(String message) {
        super(message);
    }
}
