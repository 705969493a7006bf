package io.github.seckill.spring.listener;

/** Ids of stream entries. */
final class EntryIds {
    private EntryIds() {}

    /** The smallest id that is greater. */
    static String next(String id) {
        int dash = id.indexOf('-');
        String milliseconds = id.substring(0, dash);
        long sequence = Long.parseUnsignedLong(id.substring(dash + 1));
        if (sequence == -1) {
            long next = Long.parseUnsignedLong(milliseconds) + 1;
            return Long.toUnsignedString(next) + "-0";
        }
        return milliseconds + "-" + Long.toUnsignedString(sequence + 1);
    }
}
