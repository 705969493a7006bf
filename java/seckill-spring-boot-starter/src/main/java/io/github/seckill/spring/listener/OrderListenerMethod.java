package io.github.seckill.spring.listener;

import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.util.List;
import org.springframework.util.ReflectionUtils;

/** A method with {@link SeckillOrderListener}, and its bean. */
final class OrderListenerMethod {
    private final Object bean;
    private final Method method;
    private final List<OrderStreams.Kind> kinds;

    OrderListenerMethod(Object bean, Method method) {
        Class<?>[] parameters = method.getParameterTypes();
        boolean takesKey = parameters.length == 2 && parameters[1] == String.class;
        this.kinds =
                parameters.length == 1 || takesKey
                        ? OrderStreams.Kind.takenBy(parameters[0])
                        : List.of();
        if (kinds.isEmpty()) {
            throw new IllegalStateException(
                    "A method with @SeckillOrderListener takes an OrderEvent, OrderPlaced,"
                            + " OrderConfirmed or OrderReleased, and then a String if it wants the"
                            + " idempotency key: "
                            + method);
        }
        ReflectionUtils.makeAccessible(method);
        this.bean = bean;
        this.method = method;
    }

    List<OrderStreams.Kind> kinds() {
        return kinds;
    }

    /** Throws what the method throws. */
    void handle(OrderEvent event) throws Throwable {
        try {
            if (method.getParameterCount() == 2) {
                method.invoke(bean, event, event.idempotencyKey());
            } else {
                method.invoke(bean, event);
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
