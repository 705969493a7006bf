package io.github.seckill.spring;

import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.util.*;
import org.jspecify.annotations.Nullable;
import org.springframework.aop.framework.autoproxy.AutoProxyUtils;
import org.springframework.aop.scope.ScopedProxyUtils;
import org.springframework.aop.support.AopUtils;
import org.springframework.beans.factory.config.ConfigurableListableBeanFactory;
import org.springframework.boot.convert.ApplicationConversionService;
import org.springframework.core.MethodIntrospector;
import org.springframework.core.annotation.AnnotatedElementUtils;
import org.springframework.core.annotation.AnnotationUtils;
import org.springframework.core.convert.ConversionException;
import org.springframework.util.ReflectionUtils;
import org.springframework.util.StringUtils;

/**
 * A method with {@link SeckillOrderListener}, and the name of its bean. As with the event listeners
 * of Spring, a lazy bean is made when the first entry comes, and a prototype for each.
 */
record OrderListenerMethod(ConfigurableListableBeanFactory beans, String bean, Method method) {
    /** What an annotation may say of its group. */
    private static final List<String> SAID =
            List.of("concurrency", "batch", "claimAfter", "policy", "autoStartup");

    OrderListenerMethod {
        if (kinds(method).isEmpty()) {
            throw new IllegalStateException(
                    "A method with @SeckillOrderListener takes an OrderEvent, OrderPlaced,"
                            + " OrderConfirmed, PaymentToRefund or OrderReleased, and then a String"
                            + " if it wants the idempotency key: " + method);
        }
        if (beans.containsSingleton(bean)) {
            invocable(method, beans.getBean(bean)); // Refused at the start, if it must be.
        }
    }

    private static List<Kind> kinds(Method method) {
        Class<?>[] parameters = method.getParameterTypes();
        boolean takesKey = parameters.length == 2 && parameters[1] == String.class;
        return parameters.length == 1 || takesKey ? Kind.takenBy(parameters[0]) : List.of();
    }

    /** The listeners of a consumer group, and what their annotations say beside the group. */
    record Group(Map<Kind, OrderListenerMethod> methods, Map<String, String> said) {
        private void add(String group, OrderListenerMethod listener) {
            for (Kind kind : kinds(listener.method)) {
                OrderListenerMethod other = methods.putIfAbsent(kind, listener);
                if (other != null) {
                    throw new IllegalStateException(
                            "Two listeners of the group " + group + " would take each other's"
                                    + " orders, give them groups of their own: " + other.method
                                    + " and " + listener.method);
                }
            }
        }

        /** What the annotations say, read as Spring Boot reads a property. */
        <T> T option(String name, Class<T> type, T otherwise) {
            String value = said.get(name);
            try {
                return value == null
                        ? otherwise
                        : ApplicationConversionService.getSharedInstance().convert(value, type);
            } catch (ConversionException wrong) {
                throw new IllegalArgumentException(
                        name + " of a listener can't be " + value + ": " + methods.values(), wrong);
            }
        }

        boolean isStarted() {
            return option("autoStartup", Boolean.class, true);
        }

        private void say(String group, String name, @Nullable String value) {
            String other = StringUtils.hasText(value) ? said.putIfAbsent(name, value) : null;
            if (other != null && !other.equals(value)) {
                throw new IllegalStateException(
                        "Listeners of the group " + group + " have one " + name
                                + ", and here two: " + other + " and " + value);
            }
        }
    }

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
                String name = beans.resolveEmbeddedValue(found.group());
                if (!StringUtils.hasText(name)) {
                    throw new IllegalStateException(
                            "Name the consumer group: @SeckillOrderListener(group = ...),"
                                    + " seckill.listener.group or spring.application.name: "
                                    + method);
                }
                Group group = groups.computeIfAbsent(
                        name, absent -> new Group(new LinkedHashMap<>(), new HashMap<>()));
                group.add(name, new OrderListenerMethod(beans, bean, method));
                for (String said : SAID) {
                    String value = (String) AnnotationUtils.getValue(found, said);
                    group.say(name, said, beans.resolveEmbeddedValue(value));
                }
            });
        }
        return groups;
    }

    /** Through the proxy, if there is one: transactions begin there. */
    private static Method invocable(Method method, Object target) {
        Method invocable = AopUtils.selectInvocableMethod(method, target.getClass());
        ReflectionUtils.makeAccessible(invocable);
        return invocable;
    }

    /** Throws what the method throws. */
    void handle(OrderEvent event) throws Throwable {
        Object target = beans.getBean(bean);
        Object[] both = {event, event.idempotencyKey()};
        try {
            invocable(method, target).invoke(target, Arrays.copyOf(both, method.getParameterCount()));
        } catch (InvocationTargetException thrown) {
            throw thrown.getTargetException();
        }
    }
}
