package dev.alama.client;

import java.net.URLEncoder;
import java.nio.charset.StandardCharsets;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Set;
import java.util.function.Function;

/**
 * One thing to ask. Its bytes and its key are the same however often it is sent.
 *
 * @param repeatable whether it does no harm to send it again when nobody knows what became of it
 * @param answers the statuses of what was asked for
 */
record Call<T>(
        String method,
        String path,
        Map<String, String> query,
        byte[] body,
        String idempotencyKey,
        boolean repeatable,
        Set<Integer> answers,
        Function<Object, T> reader) {

    private static final Set<Integer> GOOD = Set.of(200, 201, 202, 204);

    static <T> Call<T> get(String path, Function<Object, T> reader) {
        return new Call<>("GET", path, Map.of(), null, null, true, GOOD, reader);
    }

    static <T> Call<T> post(String path, Map<String, ?> body, Function<Object, T> reader) {
        return new Call<>("POST", path, Map.of(), Json.write(body), null, true, GOOD, reader);
    }

    static <T> Call<T> post(String path, Function<Object, T> reader) {
        return new Call<>("POST", path, Map.of(), null, null, true, GOOD, reader);
    }

    static <T> Call<T> delete(String path) {
        return new Call<>("DELETE", path, Map.of(), null, null, true, GOOD, said -> null);
    }

    /** With a parameter; null and nothing are left out. */
    Call<T> with(String name, Object value) {
        if (value == null || value.toString().isEmpty()) {
            return this;
        }
        Map<String, String> more = new LinkedHashMap<>(query);
        more.put(name, value.toString());
        return new Call<>(method, path, more, body, idempotencyKey, repeatable, answers, reader);
    }

    Call<T> under(String key) {
        String sent = header("idempotency key", key);
        return new Call<>(method, path, query, body, sent, repeatable, answers, reader);
    }

    Call<T> onceOnly() {
        return new Call<>(method, path, query, body, idempotencyKey, false, answers, reader);
    }

    /** 503 is an answer too. */
    Call<T> answeredBy503() {
        return new Call<>(method, path, query, body, idempotencyKey, repeatable, Set.of(200, 503), reader);
    }

    /** The path and the query, as they are sent. */
    String target() {
        StringBuilder target = new StringBuilder(path);
        char mark = '?';
        for (Map.Entry<String, String> each : query.entrySet()) {
            target.append(mark).append(each.getKey()).append('=').append(encoded(each.getValue()));
            mark = '&';
        }
        return target.toString();
    }

    /** Give what was asked for, or throw what came instead. */
    T read(Reply reply) {
        Object said = null;
        try {
            said = reply.body().length == 0 ? null : Json.read(reply.body());
            if (answers.contains(reply.status())) {
                return reader.apply(said);
            }
        } catch (IllegalArgumentException error) {
            if (GOOD.contains(reply.status())) {
                throw new ConnectionFailed("what came is no answer of Alama", true, error);
            }
        }
        throw Problem.of(new Problem.Told(
                reply.status(),
                said instanceof Members members ? members : Map.of(),
                reply.header("request-id"),
                Tries.retryAfter(reply.header("retry-after"))));
    }

    /** An id as a part of a path. */
    static String id(String id) {
        return encoded(InvalidArgument.unlessNull(id, "the id"));
    }

    /** Write a text so that it can be a part of a path or a query. */
    private static String encoded(String text) {
        return URLEncoder.encode(text, StandardCharsets.UTF_8).replace("+", "%20");
    }

    /** Give a text that can be sent as a header, or throw; never with the text. */
    static String header(String name, String text) {
        if (text == null || text.isBlank() || !text.chars().allMatch(letter -> letter >= ' ' && letter <= '~')) {
            throw new InvalidArgument("the " + name + " is missing, or has letters that are not printable ASCII");
        }
        return text;
    }
}
