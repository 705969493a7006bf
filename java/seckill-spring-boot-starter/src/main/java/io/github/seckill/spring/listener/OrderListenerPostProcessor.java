package io.github.seckill.spring.listener;

import java.lang.reflect.Method;
import java.util.LinkedHashMap;
import java.util.Map;
import org.springframework.aop.support.AopUtils;
import org.springframework.beans.factory.config.BeanPostProcessor;
import org.springframework.context.EnvironmentAware;
import org.springframework.core.MethodIntrospector;
import org.springframework.core.annotation.AnnotatedElementUtils;
import org.springframework.core.annotation.AnnotationUtils;
import org.springframework.core.env.Environment;
import org.springframework.util.StringUtils;

/** Finds the methods with {@link SeckillOrderListener}. */
public final class OrderListenerPostProcessor implements BeanPostProcessor, EnvironmentAware {
    private final Map<String, Map<OrderStreams.Kind, OrderListenerMethod>> groups =
            new LinkedHashMap<>();
    private Environment environment = new org.springframework.core.env.StandardEnvironment();

    /** Knows no method yet. */
    public OrderListenerPostProcessor() {}

    @Override
    public void setEnvironment(Environment environment) {
        this.environment = environment;
    }

    @Override
    public Object postProcessAfterInitialization(Object bean, String beanName) {
        Class<?> type = AopUtils.getTargetClass(bean);
        if (AnnotationUtils.isCandidateClass(type, SeckillOrderListener.class)) {
            Map<Method, SeckillOrderListener> methods =
                    MethodIntrospector.selectMethods(
                            type,
                            (MethodIntrospector.MetadataLookup<SeckillOrderListener>)
                                    method ->
                                            AnnotatedElementUtils.findMergedAnnotation(
                                                    method, SeckillOrderListener.class));
            methods.forEach((method, annotation) -> add(bean, method, annotation));
        }
        return bean;
    }

    private void add(Object bean, Method method, SeckillOrderListener annotation) {
        String group = environment.resolveRequiredPlaceholders(annotation.group());
        if (!StringUtils.hasText(group)) {
            throw new IllegalStateException(
                    "Name the consumer group: @SeckillOrderListener(group = ...),"
                            + " seckill.listener.group or spring.application.name: "
                            + method);
        }
        // Through the proxy, if there is one: transactions begin there.
        Method invocable = AopUtils.selectInvocableMethod(method, bean.getClass());
        OrderListenerMethod listener = new OrderListenerMethod(bean, invocable);
        synchronized (groups) {
            Map<OrderStreams.Kind, OrderListenerMethod> listeners =
                    groups.computeIfAbsent(group, absent -> new LinkedHashMap<>());
            for (OrderStreams.Kind kind : listener.kinds()) {
                OrderListenerMethod other = listeners.putIfAbsent(kind, listener);
                if (other != null) {
                    throw new IllegalStateException(
                            "Two listeners of the group "
                                    + group
                                    + " would take each other's orders, give them groups of their"
                                    + " own: "
                                    + other
                                    + " and "
                                    + listener);
                }
            }
        }
    }

    /** The methods found so far: group, kind of stream, method. */
    Map<String, Map<OrderStreams.Kind, OrderListenerMethod>> groups() {
        synchronized (groups) {
            return Map.copyOf(groups);
        }
    }
}
