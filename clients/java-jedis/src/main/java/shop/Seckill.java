package shop;

import redis.clients.jedis.commands.ProtocolCommand;
import redis.clients.jedis.util.SafeEncoder;

/** The commands of the module, which are not in Jedis' own table, {@code Protocol.Command}. */
enum Seckill implements ProtocolCommand {
    CREATE("SECKILL.CREATE"),
    TRY("SECKILL.TRY"),
    CONFIRM("SECKILL.CONFIRM"),
    CANCEL("SECKILL.CANCEL"),
    ORDER("SECKILL.ORDER"),
    INFO("SECKILL.INFO"),
    ACQUIRE("LOCK.ACQUIRE"),
    RELEASE("LOCK.RELEASE");

    private final byte[] raw;

    Seckill(String name) {
        raw = SafeEncoder.encode(name);
    }

    @Override
    public byte[] getRaw() {
        return raw;
    }
}
