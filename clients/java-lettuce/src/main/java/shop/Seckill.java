package shop;

import io.lettuce.core.protocol.ProtocolKeyword;
import java.nio.charset.StandardCharsets;

/** The commands of the module, which are not in Lettuce's own table, {@code CommandType}. */
enum Seckill implements ProtocolKeyword {
    CREATE("SECKILL.CREATE"),
    TRY("SECKILL.TRY"),
    CONFIRM("SECKILL.CONFIRM"),
    CANCEL("SECKILL.CANCEL"),
    ORDER("SECKILL.ORDER"),
    INFO("SECKILL.INFO"),
    ACQUIRE("LOCK.ACQUIRE"),
    RELEASE("LOCK.RELEASE");

    private final byte[] bytes;

    Seckill(String name) {
        bytes = name.getBytes(StandardCharsets.US_ASCII);
    }

    @Override
    public byte[] getBytes() {
        return bytes;
    }
}
