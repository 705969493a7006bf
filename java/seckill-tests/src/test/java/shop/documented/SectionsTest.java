package shop.documented;

import static org.assertj.core.api.Assertions.assertThat;

import java.lang.reflect.Method;
import java.net.URL;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.util.*;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledIf;
import org.yaml.snakeyaml.Yaml;

/** Which tests show the sentences of each section of docs/java.md, all outside of the library. */
@EnabledIf("shop.documented.Pages#areHere")
class SectionsTest {
    private static final String PAGE = "docs/java.md";

    /** A section, and classes of tests, or some methods of one. */
    private static final String TABLE = """
            From an empty project to a proved sale
              documented.DocumentationTest: theFirstSaleIsProved theCodeOfThePagesIsThatOfThisFolder
              FactoriesTest OverridesTest ArgumentsTest CommandsTest SentinelTest ClusterTest
              CoalescingTest: a_subscriber_of_reactor_that_cancels_leaves_too
            Reservations and payments
              documented.DocumentationTest: aReservationIsPaidOnceAndRefundedWhenItIsTooLate
              CommandsTest: a_managed_sale_from_its_creation_to_its_end
            Waiting lists
              documented.DocumentationTest: aBuyerInLineIsToldWhenTheOrderHasItsUnits
              WaitingListTest
              SoldOutMemoryTest: a_try_that_would_wait_is_sent_whatever_is_remembered
            Outcomes, mistakes, time-outs
              CommandsTest TimeoutsTest RepetitionTest WaitsTest
            Fewer requests
              CoalescingTest SoldOutMemoryTest SoldOutServersTest
              ClusterTest: sold_out_is_forgotten_when_the_slot_moves
            Orders as method calls
              OrderListenerTest OrderFailureTest ListenersTest EntriesTest
              ClusterTest: a_node_without_the_module_is_named_and_all_tags_are_read
            TLS and rights
              SecuredServerTest SentinelTest
            Health and metrics
              StarterTest: triesAreMeasuredByOutcomeAndBatch
              MetersTest OrderStreamsTest
              ModuleMissingTest
              ListenersTest: aListenerThatCanNotReadIsDownAndReadsAgain
              OrderFailureTest: whileEverythingFailsNothingIsGivenUpAndReadingStops
            Locks
              LocksTest LockConnectionsTest StarterTest
              RestartTest: aLockThatIsNotTiedToItsConnectionIsReleasedAtTheEnd
              WaitsTest: withoutAServerALockIsRefusedInTime waitersInALineEndWithTheirClient
              ClusterTest: a_planned_failover_sells_on_and_its_locks_are_released
            A server for your tests
              StarterTest: theServerIsTheTestsOwn
              RestartTest
            From StringRedisTemplate.execute
              documented.DocumentationTest: theMigratedShopAnswersAsTheOneWithScripts
              documented.MovingTest
            From RLock
              LocksTest: another_thread_releases_by_the_token_and_no_fence_is_left
              LocksTest: a_lock_is_reentrant_and_keeps_others_out
              LocksTest: a_holder_that_is_killed_frees_the_lock_at_once
            Properties
              documented.SectionsTest: everyPropertyIsOnThePage
              OverridesTest: propertiesBecomeOptions itCanBeSwitchedOff
              ListenersTest: namesConsumersAndReadsAreAsThePropertiesSay
            Versions
              VirtualThreadsTest
            """;

    private static final List<String> ELSEWHERE = List.of("The sample shop"); // Its own tests.

    private static boolean isTest(Method method) {
        return Arrays.stream(method.getAnnotations()).anyMatch(annotation ->
                annotation.annotationType().getName().startsWith("org.junit.jupiter."));
    }

    @Test
    void everySectionIsShownByTests() throws Exception {
        String page = Files.readString(Pages.ROOT.resolve(PAGE));
        List<String> sections = new ArrayList<>(ELSEWHERE);
        for (String line : TABLE.lines().toList()) {
            if (!line.startsWith(" ")) {
                sections.add(line);
                continue;
            }
            String[] parts = line.strip().split(": ");
            for (String name : parts[0].split(" ")) {
                List<String> tests = Arrays.stream(Class.forName("shop." + name)
                        .getDeclaredMethods()).filter(SectionsTest::isTest)
                        .map(Method::getName).toList();
                assertThat(tests).as(line).isNotEmpty();
                assertThat(tests).as(line)
                        .containsAll(parts.length == 1 ? tests : List.of(parts[1].split(" ")));
            }
        }
        assertThat(Pattern.compile("(?m)(?<=^## ).*$").matcher(page).results().map(MatchResult::group))
                .containsExactlyInAnyOrderElementsOf(sections);
    }

    @Test
    void everyPropertyIsOnThePage() throws Exception {
        Map<String, String> ours = new TreeMap<>();
        String name = "META-INF/spring-configuration-metadata.json";
        for (URL file : Collections.list(getClass().getClassLoader().getResources(name))) {
            if (file.getPath().contains("seckill-spring-boot-starter")) {
                String json = new String(file.openStream().readAllBytes(), StandardCharsets.UTF_8);
                var all = new Yaml().<Map<String, List<Map<String, Object>>>>load(json);
                all.get("properties").forEach(property -> ours.put(
                        (String) property.get("name"),
                        String.valueOf(property.getOrDefault("defaultValue", "none"))));
            }
        }
        ours.put("seckill.connection-factory", "the only or primary one");
        ours.put("seckill.listener.group", "spring.application.name");
        Map<String, String> documented = new TreeMap<>();
        String page = Files.readString(Pages.ROOT.resolve(PAGE));
        for (String line : page.substring(page.indexOf("## Properties")).lines().toList()) {
            String[] cells = line.split(" \\| ");
            if (line.startsWith("| `seckill.") && cells.length == 3) {
                String first = cells[0].substring(2).replace("`", "");
                String prefix = first.replaceAll("[^.]*(,.*)?$", "");
                String[] names = first.substring(prefix.length()).split(", ");
                String[] defaults = cells[1].replace("`", "").split(", ");
                for (int i = 0; i < names.length; i++) {
                    documented.put(prefix + names[i], defaults[i]);
                }
            }
        }
        assertThat(documented).isEqualTo(ours);
    }
}
