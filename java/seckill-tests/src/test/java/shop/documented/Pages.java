package shop.documented;

import java.io.IOException;
import java.nio.file.*;

/** The pages of the documentation, wherever a test runs. */
public final class Pages {
    /** The project's folder. */
    public static final Path ROOT = root();

    private Pages() {}

    private static Path root() {
        Path start = Path.of("").toAbsolutePath();
        for (Path folder = start; folder != null; folder = folder.getParent()) {
            if (Files.exists(folder.resolve("docs/java.md"))) {
                return folder;
            }
        }
        return start;
    }

    /** Without the rest of the checkout, what compares with the pages is left out. */
    public static boolean areHere() {
        return Files.exists(ROOT.resolve("docs/java.md"));
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
