package io.github.seckill.spring.listener;

/** An entry of a stream that is no order: no command of the module has written it so. */
public final class MalformedEntryException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    MalformedEntryException(String message) {
        super(message);
    }
}
