package io.github.seckill.client;

import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * The one way in which this library writes what others wrote, such as a buyer's name, to a log: in
 * one line, without a character that a terminal obeys or that no reader sees. Nothing is lost. The
 * programs of the module do the same.
 */
public final class Printable {
    /** Controls, marks of direction and format, fillers, and every space but the usual one. */
    private static final Pattern HIDDEN = Pattern.compile(
            "[\\p{Cc}\\p{Cf}\\p{Cs}\\\\\\u034f\\u115f\\u1160\\u17b4\\u17b5\\u180b-\\u180f\\u2065"
                    + "\\u2800\\u3164\\ufe00-\\ufe0f\\uffa0\\ufff0-\\ufff8\\x{e0000}-\\x{e0fff}"
                    + "\\p{Z}&&[^ ]]");

    private Printable() {}

    /** The text in one line. */
    public static String of(String text) {
        return HIDDEN.matcher(text).replaceAll(hidden -> {
            int letter = hidden.group().codePointAt(0);
            String escaped = switch (letter) {
                case '\\' -> "\\\\";
                case '\n' -> "\\n";
                case '\r' -> "\\r";
                case '\t' -> "\\t";
                default -> letter < 0x80
                        ? String.format("\\x%02x", letter)
                        : String.format("\\u{%x}", letter);
            };
            return Matcher.quoteReplacement(escaped);
        });
    }

    /** What a failure says of itself in one line; its class, if it fails at that, too. */
    public static String said(Throwable failure) {
        try {
            return of(failure.toString());
        } catch (Throwable silent) {
            return failure.getClass().getName();
        }
    }

    /** A failure in one line, and behind it what has caused it in the end, which often says why. */
    public static String why(Throwable failure) {
        Throwable root = failure;
        for (int depth = 0; root.getCause() != null && depth < 10; depth++) {
            root = root.getCause();
        }
        String said = said(failure);
        return said.endsWith(said(root)) ? said : said + ": " + said(root);
    }

    /** A failure and its causes, each in one line, with where they came from below. */
    public static String trace(Throwable failure) {
        StringBuilder lines = new StringBuilder();
        Throwable cause = failure;
        for (int depth = 0; cause != null && depth < 10; depth++, cause = cause.getCause()) {
            lines.append(depth == 0 ? "" : "\nCaused by: ").append(said(cause));
            for (StackTraceElement frame : cause.getStackTrace()) {
                lines.append("\n\tat ").append(frame);
            }
        }
        return lines.toString();
    }
}
