package shop.documented;

import static org.assertj.core.api.Assertions.assertThat;
import static shop.Until.await;

import io.github.seckill.client.*;
import io.github.seckill.test.SeckillServer;
import io.lettuce.core.RedisClient;
import java.io.IOException;
import java.net.URL;
import java.nio.charset.StandardCharsets;
import java.nio.file.*;
import java.util.*;
import java.util.regex.*;
import java.util.stream.Stream;
import org.junit.jupiter.api.*;
import org.junit.jupiter.api.condition.EnabledIf;
import org.junit.jupiter.api.extension.ExtendWith;
import org.springframework.boot.test.system.*;
import org.yaml.snakeyaml.Yaml;
import shop.Application;
import shop.documented.first.FirstSale;

/** The code of docs/java*.md and docs/clients.md is that of programs that run. */
@EnabledIf("shop.documented.Pages#areHere")
class DocumentationTest {
    private static final Path ROOT = Pages.ROOT;

    @AutoClose private final SeckillServer server = SeckillServer.start();

    @Test
    @ExtendWith(OutputCaptureExtension.class)
    void theFirstSaleIsProved(CapturedOutput output) {
        try (var context = Application.run(FirstSale.class, server)) {
            assertThat(output).contains("SaleAudit[total=100, left=0, held=100, sold=0, ")
                    .contains("differences=[]]");
            await().until(() -> output.toString().split("insert, unless placed:").length == 101);
            assertThat(context.isRunning()).isTrue();
        }
    }

    @Test
    void theSampleShopIsStartedWithWhatThePageInstalls() throws IOException {
        String install = Pages.line("docs/java.md", "mvn -f java/pom.xml -pl ");
        String shop = Files.readString(ROOT.resolve("java/seckill-samples-shop/pom.xml"));
        List<String> needed = Pattern.compile("<dependency>\\s*<groupId>io.github.seckill</groupId>"
                + "\\s*<artifactId>(.*)</artifactId>").matcher(shop).results()
                .map(found -> found.group(1)).toList();
        assertThat(needed).isNotEmpty();
        assertThat(install.split(" ")[4].split(",")).containsAll(needed);
    }

    @Test
    void whatIsSoldOutIsRememberedForASecond() {
        try (var lettuce = RedisClient.create(server.uri());
                var seckill = SeckillClient.create(lettuce)) {
            seckill.create("7", 1, SaleRules.none());
            SoldOut shop = new SoldOut(seckill);
            assertThat(shop.buy("7", "alice", "1001").isAccepted()).isTrue();
            for (long told = 0; told < 2; told++) {
                assertThat(shop.buy("7", "bob" + told, "o" + told).outcome())
                        .isEqualTo(Outcome.SOLD_OUT);
            }
            seckill.restock("7", 1);
            await().until(() -> shop.buy("7", "carol", "1003").isAccepted());
        }
    }

    @Test
    void theCodeOfThePagesIsThatOfPrograms() throws IOException {
        String sources = sources(ROOT.resolve("java")) + sources(ROOT.resolve("examples/java"));
        for (String page : List.of("java", "java-reference", "java-moving", "clients")) {
            List<String> blocks = Pattern.compile("(?ms)^```java\n(.*?)^```$")
                    .matcher(Files.readString(ROOT.resolve("docs/" + page + ".md"))).results()
                    .map(block -> flat(block.group(1).lines())).toList();
            assertThat(blocks).as(page).isNotEmpty().allSatisfy(block ->
                    assertThat(sources).contains(block));
        }
    }

    private static String sources(Path folder) throws IOException {
        StringBuilder sources = new StringBuilder();
        try (Stream<Path> files = Files.walk(folder)) {
            for (Path file : files.filter(path -> path.toString().endsWith(".java")).sorted().toList()) {
                sources.append(flat(Files.readAllLines(file).stream())).append('\n');
            }
        }
        return sources.toString();
    }

    /** Without indentation and blank lines. */
    private static String flat(Stream<String> lines) {
        return String.join("\n", lines.map(String::strip).filter(line -> !line.isEmpty()).toList());
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
        String page = Files.readString(Pages.ROOT.resolve("docs/java-reference.md"));
        int from = page.indexOf("## Properties");
        for (String line : page.substring(from, page.indexOf("\n## ", from)).lines().toList()) {
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
