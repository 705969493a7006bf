package io.github.seckill.test;

import java.util.*;
import org.jspecify.annotations.Nullable;
import org.springframework.beans.factory.support.DefaultSingletonBeanRegistry;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.core.env.MapPropertySource;
import org.springframework.test.context.*;

/** Finds {@link SeckillServiceConnection} on a test class, or on one that encloses it. */
final class SeckillServerFactory implements ContextCustomizerFactory {
    private static final String NAME = "seckillTestServer";

    @Override
    public @Nullable ContextCustomizer createContextCustomizer(
            Class<?> testClass, List<ContextConfigurationAttributes> attributes) {
        SeckillServiceConnection found = TestContextAnnotationUtils.findMergedAnnotation(
                testClass, SeckillServiceConnection.class);
        return found == null
                ? null
                : new Customizer(found.module(), found.server(), List.of(found.options()));
    }

    /**
     * Starts a server for a context. Contexts of equal customizers are shared by test classes, and
     * their servers too.
     */
    private record Customizer(String module, String server, List<String> options)
            implements ContextCustomizer {
        @Override
        public void customizeContext(
                ConfigurableApplicationContext context, MergedContextConfiguration merged) {
            String path = module.isEmpty() ? SeckillServer.requiredModule() : module;
            List<String> line = new ArrayList<>(List.of("--loadmodule", path));
            line.addAll(options);
            String program = server.isEmpty() ? SeckillServer.program() : server;
            SeckillServer started = SeckillServer.start(program, line).leaveToOwner();
            var beans = (DefaultSingletonBeanRegistry) context.getBeanFactory();
            beans.registerSingleton(NAME, started);
            // What is registered first is destroyed last: after all who are connected.
            beans.registerDisposableBean(NAME, started::close);
            context.getEnvironment()
                    .getPropertySources().addFirst(new MapPropertySource(
                            NAME, Map.of("spring.data.redis.url", started.uri())));
        }
    }
}
