package shop;

import static io.github.seckill.client.Commands.*;
import static org.assertj.core.api.Assertions.*;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.github.seckill.client.*;
import io.github.seckill.spring.OrderEvent;
import io.github.seckill.test.SeckillServer;
import java.lang.module.ModuleFinder;
import java.nio.file.*;
import java.time.*;
import java.time.temporal.ChronoUnit;
import java.util.*;
import java.util.stream.IntStream;
import java.util.concurrent.Callable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.springframework.aot.generate.*;
import org.springframework.aot.hint.*;
import org.springframework.context.annotation.AnnotationConfigApplicationContext;
import org.springframework.context.aot.ApplicationContextAotGenerator;
import org.springframework.javapoet.ClassName;

/** What is refused before anything is sent, what answers mean, what a native image keeps. */
class ArgumentsTest {
    private static final OrderRef ORDER = OrderRef.of("7", "alice", "a1");

    @Test
    void badArgumentsAreRefusedByName() {
        Duration tooShort = Duration.ofNanos(500_000);
        Map<String, List<Callable<?>>> refused = new HashMap<>(Map.of(
                "voucher", List.of(
                        () -> tryBuy("", "alice", "a1"), () -> tryBuy(null, "alice", "a1"),
                        () -> info(""), () -> create(null, 1, SaleRules.none())),
                "user", List.of(
                        () -> tryBuy("7", "", "a1"), () -> tryBuy("7", null, "a1"),
                        () -> tryBuy("7", "half \ud800", "a1"),
                        () -> confirm(OrderRef.of("7", "", "a1")), () -> status("7", "")),
                "orderId", List.of(
                        () -> tryBuy("7", "alice", ""), () -> tryBuy("7", "alice", "*"),
                        () -> OrderRef.of("7", "alice", null)),
                "paymentRef", List.of(
                        () -> confirm(ORDER, null), () -> confirm(ORDER, ""),
                        () -> recordRefund(ORDER, "")),
                "hold", List.of(
                        () -> SaleRules.none().hold(tooShort),
                        () -> SaleRules.none().hold(Duration.ofMinutes(-1))),
                "lease", List.of(
                        () -> LockOptions.defaults().lease(tooShort),
                        () -> acquire("lock:a", "token", Duration.ZERO)),
                "sale", List.of(() -> ORDER.inSale(0), () -> drop("7").inSale(1L << 53)),
                "prefix", List.of(() -> nextId("")),
                "begin", List.of(() -> SaleRules.none().begin(Instant.ofEpochMilli(-1)))));
        Map<String, Long> cart = Map.of("7", 1L);
        Map<String, Long> many = new HashMap<>();
        IntStream.range(0, 33).forEach(i -> many.put("v" + i, 1L));
        Duration forever = ChronoUnit.FOREVER.getDuration();
        SeckillOptions options = SeckillOptions.defaults();
        refused.put("retryFor", List.of(
                () -> options.retryFor(null), () -> options.retryFor(forever),
                () -> options.retryFor(Duration.ofDays(120_000)),
                () -> options.retryFor(Duration.ofNanos(-1))));
        refused.put("commandTimeout", List.of(
                () -> options.commandTimeout(null), () -> options.commandTimeout(tooShort),
                () -> options.commandTimeout(Duration.ofDays(120_000))));
        refused.put("end", List.of(() -> SaleRules.none().end(Instant.MAX)));
        refused.put("time", List.of(() -> extend(ORDER, forever)));
        refused.put("release", List.of(() -> cancel(ORDER, (Cancellation.Release) null)));
        refused.put("articles", List.of(
                () -> tryAll("alice", "a1", Map.of()), () -> tryAll("alice", "a1", many)));
        refused.put("limit", List.of(() -> tryBuy("7", "alice", "a1").limit(0)));
        refused.put("units", List.of(
                () -> tryAll("alice", "a1", Map.of("7", 0L)),
                () -> tryAll("alice", "a1", Collections.singletonMap("7", null)),
                () -> confirm(ORDER, "pay-1", 0),
                () -> cancelAllBut(ORDER, 0)));
        refused.put("user ", List.of(() -> tryAll("", "a1", cart)));
        refused.put("orderId ", List.of(() -> tryAll("alice", "*", cart)));
        refused.put("token", List.of(
                () -> acquire("lock:a", "", Duration.ofSeconds(1)), () -> release("lock:a", "")));
        refused.forEach((argument, calls) -> calls.forEach(call ->
                assertThatThrownBy(call::call)
                        .isInstanceOf(IllegalArgumentException.class)
                        .hasMessageStartingWith(argument)));
        assertThat(SaleRules.none().hold(Duration.ZERO).hold()).isZero();
    }

    @Test
    void everyConfirmationSaysOneThingToDo() {
        for (Confirmation confirmation : Confirmation.values()) {
            int sayings = (confirmation.ship() ? 1 : 0) + (confirmation.refund() ? 1 : 0)
                    + (confirmation.look() ? 1 : 0);
            assertThat(sayings).as(confirmation.name()).isEqualTo(1);
        }
    }

    /** Where they are jars, and not folders of classes. */
    @ParameterizedTest
    @ValueSource(classes = {SeckillClient.class, OrderEvent.class, SeckillServer.class})
    void theJarsAreModules(Class<?> type) throws Exception {
        Path jar = Path.of(type.getProtectionDomain().getCodeSource().getLocation().toURI());
        assumeTrue(Files.isRegularFile(jar), "the jar");
        assertThat(ModuleFinder.of(jar).findAll())
                .singleElement().extracting(module -> module.descriptor().name())
                .isEqualTo(type.getPackageName());
    }

    @Test
    void aNativeImageKeepsTheMethodsOfListeners() {
        var files = new InMemoryGeneratedFiles();
        var names = new ClassNameGenerator(ClassName.get(Application.class));
        var generation = new DefaultGenerationContext(names, files);
        try (var context = new AnnotationConfigApplicationContext()) {
            context.register(Application.class);
            new ApplicationContextAotGenerator().processAheadOfTime(context, generation);
        }
        var hint = generation.getRuntimeHints().reflection()
                .getTypeHint(TypeReference.of(Application.class));
        assertThat(hint).isNotNull();
        assertThat(hint.methods()).anyMatch(method ->
                method.getName().equals("row") && method.getMode() == ExecutableMode.INVOKE);
    }
}
