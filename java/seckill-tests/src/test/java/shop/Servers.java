package shop;

import io.github.seckill.test.SeckillServer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;

/** The servers that this machine has: the default one, and those that scripts/servers has built. */
final class Servers {
    private Servers() {}

    static Stream<String> all() {
        List<String> programs = new ArrayList<>(List.of(SeckillServer.program()));
        if (System.getProperty("seckill.redis-server") == null
                && System.getenv("REDIS_SERVER") == null) {
            for (String name : List.of("redis-8.10/redis-server", "valkey-9.1/valkey-server")) {
                Path program = built().resolve(name);
                if (Files.isExecutable(program)) {
                    programs.add(program.toString());
                }
            }
        }
        return programs.stream();
    }

    private static Path built() {
        return SeckillServer.module()
                .map(module -> module.toAbsolutePath().getParent().resolveSibling("servers"))
                .orElse(Path.of("servers"));
    }

    static SeckillServer start(String program, String... options) {
        List<String> all = new ArrayList<>(List.of("--loadmodule", SeckillServer.requiredModule()));
        all.addAll(List.of(options));
        return SeckillServer.start(program, all);
    }

    static SeckillServer start() {
        return start(SeckillServer.program());
    }
}
