package io.github.seckill.client;

import io.lettuce.core.codec.StringCodec;
import io.lettuce.core.output.CommandOutput;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.*;
import org.jspecify.annotations.Nullable;

/**
 * Any reply of the module: an integer, a text, null, or a list with lists, nulls and errors in it.
 * Lettuce's own outputs leave out nulls in lists, or take an error in a list for that of the whole.
 */
final class ReplyOutput extends CommandOutput<String, String, @Nullable Object> {
    private final Deque<Open> open = new ArrayDeque<>(2);
    private volatile boolean refused;

    /** A list that is being read, and how many elements it will have. */
    private record Open(List<@Nullable Object> list, int size) {
        boolean isFull() {
            return list.size() == size;
        }
    }

    ReplyOutput() {
        super(StringCodec.UTF8, null);
    }

    private void add(@Nullable Object element) {
        Open inner = open.peek();
        if (inner == null) {
            output = element;
        } else {
            inner.list().add(element);
        }
        closeFull();
    }

    private void closeFull() {
        for (Open inner = open.peek(); inner != null && inner.isFull(); inner = open.peek()) {
            open.pop();
        }
    }

    private static String text(ByteBuffer bytes) {
        return StandardCharsets.UTF_8.decode(bytes).toString();
    }

    @Override
    public void set(@Nullable ByteBuffer bytes) {
        add(bytes == null ? null : text(bytes));
    }

    @Override
    public void set(long integer) {
        add(integer);
    }

    @Override
    public void setError(ByteBuffer error) {
        if (open.isEmpty()) {
            super.setError(error);
            refused = true;
        } else {
            add(SeckillException.of(text(error), null));
        }
    }

    @Override
    public void multi(int count) {
        if (count < 0) {
            add(null);
            return;
        }
        List<@Nullable Object> list = new ArrayList<>(count);
        Open inner = open.peek();
        if (inner == null) {
            output = list;
        } else {
            inner.list().add(list);
        }
        open.push(new Open(list, count));
        closeFull();
    }

    /**
     * Makes it ready for the reply to a command that is written now, perhaps for the second time,
     * when a part of an earlier reply may be here.
     */
    boolean begin() {
        boolean wasRefused = refused;
        refused = false;
        open.clear();
        output = null;
        return wasRefused;
    }
}
