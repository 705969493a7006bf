package io.github.seckill.spring;

import java.util.List;
import org.jspecify.annotations.Nullable;
import org.springframework.beans.factory.config.ConfigurableListableBeanFactory;
import org.springframework.boot.diagnostics.AbstractFailureAnalyzer;
import org.springframework.boot.diagnostics.FailureAnalysis;
import org.springframework.data.redis.connection.RedisConnectionFactory;
import org.springframework.data.redis.connection.lettuce.LettuceConnectionFactory;

/**
 * The connection factory that seckill uses: that of the property, else the application's only or
 * primary one. It is one of Lettuce, or the application does not start and says what to do.
 */
record ConnectionChoice(ConfigurableListableBeanFactory beans, @Nullable String name) {
    private static final String PROPERTY = "seckill.connection-factory";

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

    LettuceConnectionFactory factory() {
        RedisConnectionFactory chosen = choose();
        if (chosen instanceof LettuceConnectionFactory lettuce) {
            return lettuce;
        }
        throw new Unclear(
                "The seckill starter needs Lettuce, and the connection factory is a "
                        + chosen.getClass().getName() + ".",
                "Define a bean of type LettuceConnectionFactory, beside Redisson's starter, too;"
                        + " or remove spring.data.redis.client-type=jedis; or set"
                        + " seckill.enabled=false.");
    }

    private RedisConnectionFactory choose() {
        List<String> names = List.of(beans.getBeanNamesForType(RedisConnectionFactory.class));
        if (name != null && names.contains(name)) {
            return beans.getBean(name, RedisConnectionFactory.class);
        }
        RedisConnectionFactory only =
                beans.getBeanProvider(RedisConnectionFactory.class).getIfUnique();
        if (only != null && name == null) {
            return only;
        }
        throw name == null
                ? new Unclear(
                        "There are several connection factories and none is @Primary: " + names + ".",
                        "Set " + PROPERTY + " to the one whose server has the seckill module, or"
                                + " seckill.enabled=false to do without it.")
                : new Unclear(
                        PROPERTY + " is " + name + ", which is no RedisConnectionFactory.",
                        "Set it to one of " + names + ".");
    }
}
