package io.github.seckill.client.jedis;

import io.github.seckill.client.Command;
import io.github.seckill.client.SeckillException;
import io.github.seckill.client.SeckillTransport.LockConnection;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ExecutionException;
import org.jspecify.annotations.Nullable;
import redis.clients.jedis.Connection;
import redis.clients.jedis.exceptions.JedisException;

/** A connection of the pool that a lock keeps for itself. */
final class JedisLockConnection extends LockConnection {
    private final Connection connection;
    private final Runnable renewSlots;

    JedisLockConnection(Connection connection, Runnable renewSlots) {
        this.connection = connection;
        this.renewSlots = renewSlots;
    }

    @Override
    public @Nullable Object call(Command command, Duration timeout) throws InterruptedException {
        if (!isOpen()) {
            throw lost();
        }
        // A thread for it, since a read of Jedis can't be interrupted.
        CompletableFuture<@Nullable Object> reply = new CompletableFuture<>();
        Thread reader = new Thread(() -> read(command, timeout, reply), "seckill-jedis-lock");
        reader.setDaemon(true);
        reader.start();
        try {
            return reply.get();
        } catch (InterruptedException interrupted) {
            close();
            throw interrupted;
        } catch (ExecutionException | CompletionException failed) {
            throw (SeckillException) failed.getCause();
        }
    }

    private void read(
            Command command, Duration timeout, CompletableFuture<@Nullable Object> reply) {
        try {
            reply.complete(Wire.call(connection, command, timeout));
        } catch (JedisException failed) {
            SeckillException said = Wire.failure(failed);
            if (said instanceof SeckillException.NoAnswer && end()) {
                connection.close();
                tellLost();
            }
            if (said instanceof SeckillException.NoAnswer || said.word().equals("MOVED")) {
                renewSlots.run();
            }
            reply.completeExceptionally(said);
        }
    }

    @Override
    public void giveBack() {
        if (end()) {
            connection.close();
        }
    }

    /** Closes the socket too, which ends a wait and releases a lock that is tied to it. */
    @Override
    public void close() {
        if (end()) {
            connection.setBroken();
            connection.disconnect();
            connection.close();
        }
    }
}
