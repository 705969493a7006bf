package io.github.seckill.test;

import java.util.*;
import org.springframework.context.annotation.*;
import org.springframework.core.type.AnnotationMetadata;
import org.springframework.test.context.DynamicPropertyRegistrar;

/** The server of a context. Contexts of equal annotations are shared, and their servers too. */
@Configuration(proxyBeanMethods = false)
class SeckillServerConfiguration implements ImportAware {
    private final List<String> line = new ArrayList<>();
    private String program = "";

    @Override
    public void setImportMetadata(AnnotationMetadata test) {
        var said = test.getAnnotations().get(SeckillServiceConnection.class).synthesize();
        String module = said.module();
        program = said.server().isEmpty() ? SeckillServer.program() : said.server();
        line.add("--loadmodule");
        line.add(module.isEmpty() ? SeckillServer.requiredModule() : module);
        line.addAll(List.of(said.options()));
    }

    @Bean
    SeckillServer seckillTestServer() {
        return SeckillServer.start(program, line).leaveToOwner();
    }

    @Bean
    DynamicPropertyRegistrar seckillTestServerAddress(SeckillServer server) {
        return properties -> properties.add("spring.data.redis.url", server::uri);
    }
}
