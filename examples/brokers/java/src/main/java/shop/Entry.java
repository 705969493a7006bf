package shop;

import com.fasterxml.jackson.databind.ObjectMapper;
import java.util.Map;

/** An entry of a stream. */
final class Entry {
    private static final ObjectMapper JSON = new ObjectMapper();
    final String stream, id;
    final Map<String, String> fields;

    Entry(String stream, String id, Map<String, String> fields) {
        this.stream = stream;
        this.id = id;
        this.fields = fields;
    }

    byte[] json() throws Exception { return JSON.writeValueAsBytes(fields); }
}
