package io.github.seckill.test;

import java.lang.annotation.*;
import org.springframework.context.annotation.Import;

/**
 * The test's application gets a server with the module of its own, without data, on a free port:
 * what {@code @ServiceConnection} is for containers. It is started before the application's beans
 * and ends after them, and is a bean of type {@link SeckillServer}. The
 * property {@code spring.data.redis.url} names it, and comes before all that the application's own
 * files say.
 *
 * <p>Needs the artifact {@code seckill-test}.
 */
@Target(ElementType.TYPE)
@Retention(RetentionPolicy.RUNTIME)
@Documented
@Inherited
@Import(SeckillServerConfiguration.class)
public @interface SeckillServiceConnection {
    /** The path of the module, {@code libseckill.so}. Placeholders are not resolved. */
    String module() default "";

    /** The path of redis-server or valkey-server. */
    String server() default "";

    /** More options of the server, as on its command line. */
    String[] options() default {};
}
