package io.github.seckill.spring.test;

import java.util.List;
import org.jspecify.annotations.Nullable;
import org.springframework.test.context.ContextConfigurationAttributes;
import org.springframework.test.context.ContextCustomizer;
import org.springframework.test.context.ContextCustomizerFactory;
import org.springframework.test.context.TestContextAnnotationUtils;

/** Finds {@link SeckillServiceConnection} on a test class, or on one that encloses it. */
final class SeckillServerCustomizerFactory implements ContextCustomizerFactory {
    SeckillServerCustomizerFactory() {}

    @Override
    public @Nullable ContextCustomizer createContextCustomizer(
            Class<?> testClass, List<ContextConfigurationAttributes> attributes) {
        SeckillServiceConnection found = TestContextAnnotationUtils.findMergedAnnotation(
                testClass, SeckillServiceConnection.class);
        return found == null
                ? null
                : new SeckillServerCustomizer(
                        found.module(), found.server(), List.of(found.options()));
    }
}
