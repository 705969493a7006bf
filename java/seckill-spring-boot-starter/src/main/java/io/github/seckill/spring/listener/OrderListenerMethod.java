package io.github.seckill.spring.listener;

import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.springframework.aop.framework.autoproxy.AutoProxyUtils;
import org.springframework.aop.scope.ScopedProxyUtils;
import org.springframework.aop.support.AopUtils;
import org.springframework.beans.factory.config.ConfigurableListableBeanFactory;
import org.springframework.core.MethodIntrospector;
import org.springframework.core.annotation.AnnotatedElementUtils;
import org.springframework.core.annotation.AnnotationUtils;
import org.springframework.util.ReflectionUtils;
import org.springframework.util.StringUtils;

/**
 * A method with {@link SeckillOrderListener}, and the name of its bean. As with the event listeners
 * of Spring, a lazy bean is made when the first entry comes, and a prototype for each.
 */
final class OrderListenerMethod {
    /** What an annotation may say of its group. */
    private static final List<String> SAID =
            List.of("concurrency", "batch", "claimAfter", "policy", "autoStartup");

    private final ConfigurableListableBeanFactory beans;
    private final String bean;
    private final Method method;
    private final List<Kind> kinds;

    private OrderListenerMethod(ConfigurableListableBeanFactory beans, String bean, Method method) {
        Class<?>[] parameters = method.getParameterTypes();
        boolean takesKey = parameters.length == 2 && parameters[1] == String.class;
        this.kinds = parameters.length == 1 || takesKey ? Kind.takenBy(parameters[0]) : List.of();
        if (kinds.isEmpty()) {
            throw new IllegalStateException(
                    "A method with @SeckillOrderListener takes an OrderEvent, OrderPlaced,"
                            + " OrderConfirmed, PaymentToRefund or OrderReleased, and then a String"
                            + " if it wants the idempotency key: " + method);
        }
        this.beans = beans;
        this.bean = bean;
        this.method = method;
        if (beans.containsSingleton(bean)) {
            invocableOf(beans.getBean(bean)); // Refused at the start, if it must be.
        }
    }

    /**
     * The listeners of a consumer group.
     *
     * @param said what the annotations say beside the group
     */
    record Group(Map<Kind, OrderListenerMethod> methods, Map<String, String> said) {}

    /** Finds the methods of all beans, of which none is made. */
    static Map<String, Group> of(ConfigurableListableBeanFactory beans) {
        Map<String, Group> groups = new LinkedHashMap<>();
        for (String bean : beans.getBeanNamesForType(Object.class)) {
            Class<?> type = ScopedProxyUtils.isScopedTarget(bean)
                    ? null
                    : AutoProxyUtils.determineTargetClass(beans, bean);
            if (type == null
                    || !AnnotationUtils.isCandidateClass(type, SeckillOrderListener.class)) {
                continue;
            }
            MethodIntrospector.MetadataLookup<SeckillOrderListener> annotation = method ->
                    AnnotatedElementUtils.findMergedAnnotation(method, SeckillOrderListener.class);
            MethodIntrospector.selectMethods(type, annotation).forEach((method, found) -> {
                String group = beans.resolveEmbeddedValue(found.group());
                add(groups, group, new OrderListenerMethod(beans, bean, method));
                for (String name : SAID) {
                    String value = (String) AnnotationUtils.getValue(found, name);
                    say(groups, group, name, beans.resolveEmbeddedValue(value));
                }
            });
        }
        return groups;
    }

    private static void add(
            Map<String, Group> groups, String group, OrderListenerMethod listener) {
        if (!StringUtils.hasText(group)) {
            throw new IllegalStateException(
                    "Name the consumer group: @SeckillOrderListener(group = ...),"
                            + " seckill.listener.group or spring.application.name: " + listener);
        }
        Map<Kind, OrderListenerMethod> listeners = groups.computeIfAbsent(
                group, absent -> new Group(new LinkedHashMap<>(), new HashMap<>())).methods();
        for (Kind kind : listener.kinds) {
            OrderListenerMethod other = listeners.putIfAbsent(kind, listener);
            if (other != null) {
                throw new IllegalStateException(
                        "Two listeners of the group " + group + " would take each other's orders,"
                                + " give them groups of their own: " + other + " and " + listener);
            }
        }
    }

    private static void say(
            Map<String, Group> groups, String group, String name, @Nullable String value) {
        if (!StringUtils.hasText(value)) {
            return;
        }
        String other = groups.get(group).said().putIfAbsent(name, value);
        if (other != null && !other.equals(value)) {
            throw new IllegalStateException(
                    "Listeners of the group " + group + " have one " + name + ", and here two: "
                            + other + " and " + value);
        }
    }

    /** Through the proxy, if there is one: transactions begin there. */
    private Method invocableOf(Object target) {
        Method invocable = AopUtils.selectInvocableMethod(method, target.getClass());
        ReflectionUtils.makeAccessible(invocable);
        return invocable;
    }

    /** Throws what the method throws. */
    void handle(OrderEvent event) throws Throwable {
        Object target = beans.getBean(bean);
        try {
            if (method.getParameterCount() == 2) {
                invocableOf(target).invoke(target, event, event.idempotencyKey());
            } else {
                invocableOf(target).invoke(target, event);
            }
        } catch (InvocationTargetException thrown) {
            throw thrown.getTargetException();
        }
    }

    @Override
    public String toString() {
        return method.toString();
    }
}
