package io.github.seckill.spring.boot;

import io.github.seckill.spring.boot.ModuleProbe.Found;
import java.util.List;
import org.springframework.boot.actuate.health.AbstractHealthIndicator;
import org.springframework.boot.actuate.health.Health;

/** Whether the server has the module, as Spring Boot 3 asks. */
final class SeckillBoot3Health extends AbstractHealthIndicator {
    private final ModuleProbe probe;

    SeckillBoot3Health(ModuleProbe probe) {
        super("The server can't be asked whether it has the seckill module");
        this.probe = probe;
    }

    @Override
    protected void doHealthCheck(Health.Builder builder) {
        List<Found> found = probe.look();
        builder.withDetails(SeckillHealthAutoConfiguration.details(found));
        if (SeckillHealthAutoConfiguration.isUp(found)) {
            builder.up();
        } else {
            builder.down();
        }
    }
}
