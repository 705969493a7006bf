#!/usr/bin/env bash
# Redisson: the server answers a script later than the client waits for it.
# Guess: a script that may have been carried out is not sent again: the documentation speaks of attempts to send.
# Seen with Redisson 4.7.0 on Redis 7.0.15, all options but a shorter time-out as they come: it sends the same script five
# times, the server carries all of them out, and the caller is told that it failed. With retryAttempts 0 it is sent once.
. "$(dirname "$0")/common.sh"
start redis-7.0 --enable-debug-command yes
java_program org.redisson:redisson:4.7.0 <<'JAVA'
import java.util.List;
import org.redisson.Redisson;
import org.redisson.api.RScript;
import org.redisson.client.codec.StringCodec;
import org.redisson.config.Config;

public class Probe {
    public static void main(String[] args) throws Exception {
        var config = new Config();
        var server = config.useSingleServer().setAddress("redis://127.0.0.1:" + args[0]).setTimeout(300);
        if (args[1].equals("once")) {
            server.setRetryAttempts(0);
        }
        var script = Redisson.create(config).getScript(StringCodec.INSTANCE);
        var text = "return redis.call('INCR', KEYS[1])";
        // It asks the server some things at its first script.
        script.eval(RScript.Mode.READ_WRITE, text, RScript.ReturnType.LONG, List.of("first"));
        new ProcessBuilder("redis-cli", "-p", args[0], "DEBUG", "SLEEP", args[2]).start();
        Thread.sleep(500);
        try {
            System.out.println("told " + script.eval(
                    RScript.Mode.READ_WRITE, text, RScript.ReturnType.LONG, List.of(args[1])));
        } catch (Exception failed) {
            System.out.println(failed.getClass().getSimpleName());
        }
        // The server reads what came meanwhile.
        Thread.sleep(1000 * Long.parseLong(args[2]));
        System.exit(0);
    }
}
JAVA
seen "told" RedisResponseTimeoutException "$(probe "$port" default 15)"
seen "the counter of a script that was late" 5 "$(say GET default)"
seen "told, with retryAttempts 0" RedisResponseTimeoutException "$(probe "$port" once 2)"
seen "the counter" 1 "$(say GET once)"
verdict
