package io.github.seckill.spring.boot;

import io.github.seckill.client.SeckillTransport;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.beans.factory.config.ConfigurableListableBeanFactory;
import org.springframework.boot.diagnostics.AbstractFailureAnalyzer;
import org.springframework.boot.diagnostics.FailureAnalysis;
import org.springframework.context.SmartLifecycle;
import org.springframework.context.annotation.AnnotationConfigApplicationContext;
import org.springframework.core.env.ConfigurableEnvironment;
import org.springframework.data.redis.connection.RedisConnectionFactory;
import org.springframework.util.ClassUtils;
import org.springframework.util.StringUtils;

/**
 * The connection factory that seckill uses: that of the property, else the application's only or
 * primary one. Where that is Redisson's, one of Lettuce is made of {@code spring.data.redis.*}.
 */
final class ConnectionChoice implements SmartLifecycle, AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(ConnectionChoice.class);
    private static final String PROPERTY = "seckill.connection-factory";
    private static final List<String> REDIS_OF_BOOT = List.of(
            "org.springframework.boot.data.redis.autoconfigure.DataRedisAutoConfiguration",
            "org.springframework.boot.autoconfigure.data.redis.RedisAutoConfiguration",
            "org.springframework.boot.autoconfigure.ssl.SslAutoConfiguration");
    private static final List<String> DETAILS_OF_BOOT = List.of(
            "org.springframework.boot.data.redis.autoconfigure.DataRedisConnectionDetails",
            "org.springframework.boot.autoconfigure.data.redis.RedisConnectionDetails");

    private final ConfigurableListableBeanFactory beans;
    private final ConfigurableEnvironment environment;
    private final @Nullable String name;
    private @Nullable RedisConnectionFactory chosen;
    private @Nullable AnnotationConfigApplicationContext own;
    private boolean sends;

    ConnectionChoice(
            ConfigurableListableBeanFactory beans, ConfigurableEnvironment environment,
            @Nullable String name) {
        this.beans = beans;
        this.environment = environment;
        this.name = name;
    }

    /** Why the application can't start, and what to do. */
    @SuppressWarnings("serial") // It is never stored.
    static final class Unclear extends IllegalStateException {
        private final String action;

        Unclear(String description, String action) {
            super(description);
            this.action = action;
        }
    }

    /** Says it as Spring Boot says what keeps an application from starting. */
    static final class Analyzer extends AbstractFailureAnalyzer<Unclear> {
        @Override
        protected FailureAnalysis analyze(Throwable root, Unclear cause) {
            return new FailureAnalysis(cause.getMessage(), cause.action, cause);
        }
    }

    /** The application has no transport of its own. */
    SeckillTransport transport() {
        sends = true;
        return Transports.over(factory());
    }

    /** Listeners read where tries are sent, or the application says where. */
    RedisConnectionFactory forListeners() {
        List<String> names = names();
        if (!sends && name == null && names.size() > 1) {
            throw new Unclear(
                    "The SeckillTransport is the application's own, and listeners may read by any"
                            + " of " + names + ": by another server they would see no order.",
                    "Set " + PROPERTY + " to the bean that reaches the server of the transport.");
        }
        if (!sends && name == null) {
            LOG.warn(
                    "The SeckillTransport is the application's own: listeners read by {}. Set {}"
                            + " to say that this is the same server", names, PROPERTY);
        }
        return factory();
    }

    synchronized RedisConnectionFactory factory() {
        RedisConnectionFactory present = chosen;
        if (present == null) {
            present = choose();
            if (present.getClass().getName().startsWith("org.redisson.")) {
                present = lettuceBeside(present);
            }
            chosen = present;
        }
        return present;
    }

    private List<String> names() {
        return List.of(beans.getBeanNamesForType(RedisConnectionFactory.class));
    }

    private RedisConnectionFactory choose() {
        List<String> names = names();
        if (name != null) {
            if (!names.contains(name)) {
                throw new Unclear(
                        PROPERTY + " is " + name + ", which is no RedisConnectionFactory.",
                        "Set it to one of " + names + ".");
            }
            return beans.getBean(name, RedisConnectionFactory.class);
        }
        RedisConnectionFactory only =
                beans.getBeanProvider(RedisConnectionFactory.class).getIfUnique();
        if (only == null) {
            throw new Unclear(
                    "There are several connection factories and none is @Primary: " + names + ".",
                    "Set " + PROPERTY + " to the one whose server has the seckill module, or"
                            + " seckill.enabled=false to do without it.");
        }
        return only;
    }

    private boolean isSet(String prefix, String... keys) {
        return Arrays.stream(keys)
                .anyMatch(key -> StringUtils.hasText(environment.getProperty(prefix + key)));
    }

    /** Spring Boot's own configuration in a context without Redisson's. */
    private RedisConnectionFactory lettuceBeside(RedisConnectionFactory other) {
        boolean elsewhere = isSet("spring.redis.redisson.", "config", "file");
        boolean here = isSet(
                "spring.data.redis.", "url", "host", "cluster.nodes", "cluster.nodes[0]",
                "sentinel.master");
        ClassLoader loader = beans.getBeanClassLoader();
        if (!Transports.LETTUCE || elsewhere && !here) {
            throw new Unclear(
                    "The connection factory is Redisson's (" + other.getClass().getName() + "),"
                            + " and seckill sends by Lettuce"
                            + (Transports.LETTUCE ? "." : ", which is not on the class path."),
                    "Set spring.data.redis.url (or host, cluster or sentinel) to the server, which"
                            + " Redisson's own file does not tell, and keep lettuce-core.");
        }
        var context = new AnnotationConfigApplicationContext();
        context.setEnvironment(environment);
        context.setClassLoader(loader);
        for (String type : DETAILS_OF_BOOT) {
            if (ClassUtils.isPresent(type, loader)) {
                beans.getBeansOfType(ClassUtils.resolveClassName(type, loader))
                        .forEach(context.getBeanFactory()::registerSingleton);
            }
        }
        List<Class<?>> present = new ArrayList<>();
        for (String type : REDIS_OF_BOOT) {
            if (ClassUtils.isPresent(type, loader)) {
                present.add(ClassUtils.resolveClassName(type, loader));
            }
        }
        context.register(present.toArray(Class<?>[]::new));
        context.refresh();
        own = context;
        LOG.info("Beside Redisson seckill has connections of Lettuce, by spring.data.redis.*");
        return context.getBean(RedisConnectionFactory.class);
    }

    private synchronized void ofOwn(Consumer<AnnotationConfigApplicationContext> call) {
        if (own != null) {
            call.accept(own);
        }
    }

    @Override
    public void start() {
        ofOwn(AnnotationConfigApplicationContext::start);
    }

    @Override
    public void stop() {
        ofOwn(AnnotationConfigApplicationContext::stop);
    }

    @Override
    public synchronized boolean isRunning() {
        return own != null && own.isRunning();
    }

    /** With the connection factories of the application: after what uses them has stopped. */
    @Override
    public int getPhase() {
        return 0;
    }

    @Override
    public void close() {
        ofOwn(AnnotationConfigApplicationContext::close);
    }
}
