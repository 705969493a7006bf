package io.github.seckill.client;

/** What became of a try whose order id the server makes. */
public sealed interface Purchase {
    /** The unit is the user's. */
    record Accepted(String orderId) implements Purchase {}

    /** All is sold, and the order waits in line, as {@link Try#waitlist} has asked. */
    record Waiting(String orderId) implements Purchase {}

    /**
     * The unit is not the user's.
     *
     * @param outcome why; never {@code ACCEPTED}, {@code WAITING} or {@code UNKNOWN}
     */
    record Refused(Outcome outcome) implements Purchase {}

    /**
     * No answer came. Such a try can't be sent again, as nobody knows its order id: ask {@link
     * Commands#status}.
     */
    record Unknown() implements Purchase {}
}
