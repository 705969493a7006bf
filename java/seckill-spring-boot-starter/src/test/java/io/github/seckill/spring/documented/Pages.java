package io.github.seckill.spring.documented;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;

/** The pages of the documentation, wherever a test runs. */
public final class Pages {
    /** The project's folder. */
    static final Path ROOT = root();

    private Pages() {}

    private static Path root() {
        Path folder = Path.of("").toAbsolutePath();
        while (!Files.exists(folder.resolve("docs/java.md"))) {
            folder = folder.getParent();
        }
        return folder;
    }

    /** The one line of a page that begins so. */
    public static String line(String page, String beginning) throws IOException {
        var found = Files.readAllLines(ROOT.resolve(page)).stream()
                .filter(line -> line.startsWith(beginning)).toList();
        if (found.size() != 1) {
            throw new AssertionError(page + " has " + found.size() + " lines of " + beginning);
        }
        return found.get(0);
    }
}
