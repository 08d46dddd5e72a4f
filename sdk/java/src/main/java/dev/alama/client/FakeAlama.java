package dev.alama.client;

import java.io.IOException;
import java.net.URLDecoder;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Base64;
import java.util.Collections;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.TreeMap;
import java.util.function.Predicate;

/**
 * A fake Alama for your tests: in this process, without a server, and without waiting.
 *
 * <pre>{@code
 * FakeAlama fake = new FakeAlama();
 * fake.answer(a -> a.number("monthly_inflow") < 5_000, Map.of("decision", "DECLINED", "score", 480));
 * fake.fail(Problem.TooManyRequests.class, 2);
 * myLoanSystem(fake.client());
 * assert fake.scores().size() == 1;
 * }</pre>
 *
 * <p>It answers in the shapes of Alama, and keeps idempotency keys as Alama does. It judges nobody.
 */
public final class FakeAlama {
    /** Signs webhooks. */
    public static final String SECRET =
            "whsec_" + Base64.getEncoder().encodeToString("a secret, all fake".getBytes(StandardCharsets.US_ASCII));

    private static final String BASE_URL = "https://alama.invalid";
    private static final Instant NOON = Instant.parse("2026-11-15T12:00:00Z"); // all happens then, and soon after
    private static final String MODEL = "sha256:" + "0".repeat(64);

    /** What {@code expand} adds to a score. */
    private static final Map<String, Object> MORE = Map.of(
            "base_score", 640.0,
            "reasons", List.of(),
            "model", MODEL,
            "policy", MODEL,
            "offer",
                    Map.of(
                            "currency", "KES",
                            "default_probability", 0.025,
                            "price", Map.of("expected_loss", 15.2, "running_cost", 8.0, "funding", 10.0, "margin", 3.3),
                            "fee", 600.0,
                            "expected_loss", 250.0,
                            "rules", List.of(),
                            "apr_definition", "simple",
                            "aprs", Map.of("simple", 36.5, "nominal", 36.5, "effective", 42.57),
                            "capped_by", List.of()),
            "offers", List.of(),
            "schedule",
                    Map.of(
                            "currency", "KES",
                            "amount", 10_000,
                            "received", 10_000,
                            "fee", 600,
                            "tax", 0,
                            "interest", 0,
                            "total", 10_600,
                            "payments",
                                    List.of(Map.of(
                                            "due_in_days", 60,
                                            "amount", 10_600,
                                            "principal", 10_000,
                                            "interest", 0,
                                            "fee", 600))));

    private static final Set<String> LISTED = Set.of(
            "request_id",
            "created_at",
            "score",
            "tier",
            "default_probability",
            "decision",
            "recommended_limit",
            "recommended_term_days",
            "recommended_apr");

    private final List<Request> requests = new ArrayList<>();
    private final TreeMap<String, Map<String, Object>> scores = new TreeMap<>();
    private final List<Map<String, Object>> outcomes = new ArrayList<>();
    private final List<Map<String, Object>> loans = new ArrayList<>();
    private final Map<String, Map<String, Object>> endpoints = new LinkedHashMap<>();
    private final ArrayDeque<Rule> rules = new ArrayDeque<>();
    private final ArrayDeque<Failure> failures = new ArrayDeque<>();
    private final Map<String, Replay> replays = new HashMap<>();
    private double waited;
    private int count;

    /** One that approves everybody. */
    public FakeAlama() {}

    /** A request as it came; a retry is one more. The names of headers are in lower case. */
    public record Request(
            String method, String path, Map<String, String> query, Map<String, String> headers, byte[] body) {
        /** The body, read: maps, lists and values. Null where there is none. */
        public Object json() {
            return body == null ? null : Json.read(body);
        }

        /** The method and the path: what was sent stays out of logs, as do keys. */
        @Override
        public String toString() {
            return "Request[" + method + " " + path + "]";
        }
    }

    /** A webhook as it would come. */
    public record Webhook(Map<String, String> headers, byte[] body) {
        /** The event's id. */
        @Override
        public String toString() {
            return "Webhook[" + headers.get("webhook-id") + "]";
        }
    }

    private record Rule(Predicate<Application> when, Map<String, ?> members) {}

    private record Failure(Class<? extends AlamaError> error, Duration retryAfter) {}

    private record Replay(byte[] body, Map<String, Object> answer) {}

    // -------------------------------------------------------------------------------------------- what you say

    /** Give a client that speaks with this, and never waits. */
    public Alama client() {
        return builder().build();
    }

    /** Begin such a client, with options of your own. */
    public Alama.Builder builder() {
        return Alama.builder(BASE_URL).key("alama_test_fake").transport(new FakeTransport());
    }

    /** Give all applications these members of a score, by the names of the API. */
    public FakeAlama answer(Map<String, ?> members) {
        return answer(application -> true, members);
    }

    /** Give some applications these members of a score; what is said last is looked at first. */
    public synchronized FakeAlama answer(Predicate<Application> when, Map<String, ?> members) {
        rules.addFirst(new Rule(when, members));
        return this;
    }

    /** Let the next request fail: with a problem, or by {@code ConnectionFailed} or {@code TimedOut}. */
    public FakeAlama fail(Class<? extends AlamaError> error) {
        return fail(error, 1);
    }

    /** Let the next requests fail. */
    public FakeAlama fail(Class<? extends AlamaError> error, int times) {
        return fail(error, times, Duration.ZERO);
    }

    /** Let the next requests fail, and say when they may come again. */
    public synchronized FakeAlama fail(Class<? extends AlamaError> error, int times, Duration retryAfter) {
        boolean known = ConnectionFailed.class.isAssignableFrom(error)
                || Problem.KINDS.stream().anyMatch(each -> each.type() == error);
        if (!known) {
            throw new InvalidArgument("no request fails by " + error.getSimpleName());
        }
        failures.addAll(Collections.nCopies(times, new Failure(error, retryAfter)));
        return this;
    }

    /** Give an event as it would come, signed with {@link #SECRET}; the data by the names of the API. */
    public synchronized Webhook webhook(String type, Map<String, ?> data) {
        String id = newId("evt_");
        Map<String, Object> told = new LinkedHashMap<>(Map.of("mode", "test"));
        told.putAll(data);
        byte[] body = Json.write(Map.of("type", type, "timestamp", moment(count), "data", told));
        return new Webhook(Webhooks.sign(body, id, SECRET), body);
    }

    // -------------------------------------------------------------------------------------------- what has come

    /** All requests, in order. */
    public synchronized List<Request> requests() {
        return List.copyOf(requests);
    }

    /** What was stored, by its request id, the oldest first. */
    public synchronized Map<String, Map<String, Object>> scores() {
        return new LinkedHashMap<>(scores);
    }

    /** All outcomes that were told. */
    public synchronized List<Map<String, Object>> outcomes() {
        return List.copyOf(outcomes);
    }

    /** All events of loans that were told. */
    public synchronized List<Map<String, Object>> loans() {
        return List.copyOf(loans);
    }

    /** The endpoints that there are, by their ids. */
    public synchronized Map<String, Map<String, Object>> endpoints() {
        return new LinkedHashMap<>(endpoints);
    }

    /** How long the clients would have waited: for them the time has passed. */
    public synchronized Duration waited() {
        return Duration.ofNanos((long) (waited * 1e9));
    }

    // -------------------------------------------------------------------------------------------- what it does

    private final class FakeTransport implements Transport {
        @Override
        public Reply send(Call<?> call, Map<String, String> headers, Duration timeout) throws InterruptedException {
            require(!Thread.interrupted());
            synchronized (FakeAlama.this) {
                Map<String, String> sent = Map.copyOf(headers);
                Request request = new Request(call.method(), call.path(), call.query(), sent, call.body());
                requests.add(request);
                try {
                    fail();
                    return route(request);
                } catch (Problem problem) {
                    return told(problem);
                }
            }
        }

        @Override
        public double now() {
            synchronized (FakeAlama.this) {
                return waited;
            }
        }

        @Override
        public void sleep(double seconds) throws InterruptedException {
            require(!Thread.interrupted());
            synchronized (FakeAlama.this) {
                waited += seconds;
            }
        }

        private void require(boolean goesOn) throws InterruptedException {
            if (!goesOn) {
                throw new InterruptedException();
            }
        }
    }

    private void fail() {
        Failure failure = failures.poll();
        if (failure == null) {
            return;
        }
        if (failure.error == TimedOut.class) {
            throw new TimedOut("the fake was told so", true, null);
        }
        if (failure.error == ConnectionFailed.class) {
            throw new ConnectionFailed("the fake was told so", true, new IOException());
        }
        throw problem(failure.error, failure.retryAfter);
    }

    private Reply route(Request request) {
        String[] parts = request.path.split("/"); // "", "v1", a noun, an id, a verb
        String id = parts.length > 3 ? URLDecoder.decode(parts[3], StandardCharsets.UTF_8) : "";
        String noun = parts.length > 4 ? parts[2] + "/" + parts[4] : parts[2];
        return switch (request.method + " " + noun) {
            case "POST score" -> reply(200, score(request));
            case "POST explain" -> reply(200, explain(request.json()));
            case "GET health" -> reply(200, Map.of("status", "ok", "version", "fake", "model", MODEL));
            case "GET key" -> reply(200, ownKey());
            case "GET scores" -> reply(200, id.isEmpty() ? page(request.query) : stored(id));
            case "POST scores/review" -> reply(201, review(id, request.json()));
            case "POST outcomes" -> reply(200, outcomes(request.json()));
            case "POST loans" -> reply(200, loans(request.json()));
            case "POST webhook_endpoints" -> reply(201, endpoint(request.json()));
            case "GET webhook_endpoints" -> reply(200, Map.of("data", endpoints.values()));
            case "POST webhook_endpoints/test" -> {
                requireEndpoint(id);
                yield reply(202, Map.of("event", newId("evt_")));
            }
            case "DELETE webhook_endpoints" -> {
                requireEndpoint(id);
                endpoints.remove(id);
                yield new Reply(204, Map.of(), new byte[0]);
            }
            default -> throw problem(Problem.NotFound.class, null);
        };
    }

    private static Map<String, Object> ownKey() {
        Map<String, Object> said = new LinkedHashMap<>();
        said.put("id", "key_fake");
        said.put("lender", "fake");
        said.put("currency", "KES");
        said.put("mode", "test");
        said.put("scopes", List.of("scores:read", "scores:write"));
        said.put("created_at", "2026-01-01T00:00:00Z");
        said.put("expires_at", null);
        said.put("rate_limit", 1_000);
        said.put("burst", 2_000);
        return said;
    }

    private static Reply reply(int status, Map<String, Object> said) {
        return new Reply(status, Map.of(), Json.write(said));
    }

    private Map<String, Object> score(Request request) {
        String key = request.headers.get("idempotency-key");
        Replay replay = replays.get(key);
        if (replay != null) {
            if (!Arrays.equals(replay.body, request.body)) {
                throw problem(Problem.IdempotencyKeyReused.class, null);
            }
            return replay.answer;
        }
        String id = newId("req_");
        Map<String, Object> stored = new LinkedHashMap<>(MORE);
        stored.putAll(judge(request.json()));
        stored.put("request_id", id);
        stored.put("processing_ms", 1);
        Map<String, Object> answer = new LinkedHashMap<>(stored);
        List<String> expanded = List.of(request.query.getOrDefault("expand", "").split(","));
        answer.keySet().removeIf(name -> MORE.containsKey(name) && !expanded.contains(name));
        replays.put(key, new Replay(request.body, answer));
        stored.remove("reasons");
        stored.remove("schedule");
        stored.remove("offers");
        stored.put("created_at", moment(count));
        stored.put("mode", "test");
        stored.put("key_id", "key_fake");
        stored.put("application", request.json());
        stored.put("review", null);
        stored.put("outcome", null);
        scores.put(id, stored);
        return answer;
    }

    private Map<String, Object> judge(Object said) {
        Map<String, Object> answer = new LinkedHashMap<>();
        answer.put("score", 700);
        answer.put("tier", "A");
        answer.put("default_probability", 0.025);
        answer.put("decision", "APPROVED");
        answer.put("recommended_limit", 10_000);
        answer.put("recommended_term_days", 60);
        answer.put("recommended_apr", 36.5);
        answer.put("shap_values", List.of());
        Application application = Application.of(Reader.object(said));
        rules.stream()
                .filter(rule -> rule.when.test(application))
                .findFirst()
                .ifPresent(rule -> answer.putAll(rule.members));
        return answer;
    }

    private Map<String, Object> explain(Object said) {
        Map<String, Object> answer = new LinkedHashMap<>(Map.of(
                "rules", List.of(),
                "base_score", 640.0,
                "reasons", List.of(),
                "recourse", "already_met",
                "counterfactuals", List.of(),
                "binding", List.of()));
        answer.put("counter_offers", null);
        answer.put("notice", null);
        answer.put("language", "en");
        answer.put("target", "APPROVED");
        answer.put("model", MODEL);
        answer.put("policy", MODEL);
        answer.put("request_id", newId("req_"));
        answer.put("processing_ms", 1);
        answer.putAll(judge(said));
        return answer;
    }

    private Map<String, Object> page(Map<String, String> query) {
        boolean waiting = "true".equals(query.get("waiting"));
        var before = scores.headMap(query.getOrDefault("cursor", "~"), false);
        List<String> older = before.descendingMap().entrySet().stream()
                .filter(each -> !waiting || waits(each.getValue()))
                .map(Map.Entry::getKey)
                .toList();
        List<String> page = older.subList(0, Math.min(older.size(), Integer.parseInt(query.get("limit"))));
        Map<String, Object> said = new LinkedHashMap<>();
        said.put("data", page.stream().map(each -> listed(scores.get(each))).toList());
        said.put("next_cursor", older.size() > page.size() ? page.get(page.size() - 1) : null);
        return said;
    }

    private static Map<String, Object> listed(Map<String, Object> score) {
        Map<String, Object> shown = new LinkedHashMap<>(score);
        shown.keySet().retainAll(LISTED);
        return shown;
    }

    private static boolean waits(Map<String, Object> score) {
        return "REVIEW".equals(score.get("decision")) && score.get("review") == null;
    }

    private Map<String, Object> stored(String id) {
        Map<String, Object> found = scores.get(id);
        if (found == null) {
            throw problem(Problem.UnknownScore.class, null);
        }
        return found;
    }

    private Map<String, Object> review(String id, Object said) {
        Map<String, Object> score = stored(id);
        Object given = score.get("decision");
        Map<String, Object> review = new LinkedHashMap<>(Map.of("note", ""));
        review.putAll(Reader.object(said));
        Object decided = review.get("decision");
        review.put("request_id", id);
        review.put("reviewed_at", moment(0));
        review.put("given_decision", given);
        review.put("overrides", !decided.equals(given) && Set.of("APPROVED", "DECLINED").contains(given));
        Object before = score.get("review");
        if (before != null && !Objects.equals(before, review)) {
            throw problem(Problem.AlreadyReviewed.class, null);
        }
        score.put("review", review);
        return review;
    }

    private Map<String, Object> loans(Object said) {
        List<Map<String, Object>> results = new ArrayList<>();
        for (Object each : (List<?>) Reader.object(said).get("loans")) {
            Map<String, Object> event = Reader.object(each);
            String result = loans.contains(event) ? "unchanged" : "recorded";
            loans.add(event);
            results.add(Map.of("loan", event.get("loan"), "result", result));
        }
        return Map.of("results", results);
    }

    private Map<String, Object> outcomes(Object said) {
        List<Map<String, Object>> results = new ArrayList<>();
        for (Object each : (List<?>) Reader.object(said).get("outcomes")) {
            Map<String, Object> outcome = Reader.object(each);
            outcomes.add(outcome);
            Object id = outcome.get("request_id");
            results.add(
                    scores.containsKey(id)
                            ? Map.of(
                                    "request_id", id,
                                    "result", "recorded",
                                    "is_default", !"repaid".equals(outcome.get("outcome")))
                            : Map.of(
                                    "request_id", id,
                                    "result", "unknown_score",
                                    "message", "There is no score with this request_id."));
        }
        return Map.of("results", results);
    }

    private Map<String, Object> endpoint(Object said) {
        Map<String, Object> made = new LinkedHashMap<>(Reader.object(said));
        String id = newId("we_");
        Map<String, Object> pending = new HashMap<>(Map.of("count", 0));
        pending.put("next_attempt_at", null);
        made.put("id", id);
        made.put("enabled", true);
        made.put("created_at", moment(count));
        made.put("failing_since", null);
        made.put("disabled_at", null);
        made.put("disabled_reason", null);
        made.put("pending", pending);
        endpoints.put(id, made);
        Map<String, Object> shown = new LinkedHashMap<>(made);
        shown.put("secret", SECRET);
        return shown;
    }

    private void requireEndpoint(String id) {
        if (!endpoints.containsKey(id)) {
            throw problem(Problem.UnknownWebhookEndpoint.class, null);
        }
    }

    /** An id that sorts after those before. */
    private String newId(String prefix) {
        count++;
        return "%s%014x%014x".formatted(prefix, count, 0);
    }

    private static String moment(int seconds) {
        return NOON.plusSeconds(seconds).toString();
    }

    private static Problem problem(Class<? extends AlamaError> error, Duration retryAfter) {
        Problem.Kind kind = Problem.KINDS.stream().filter(each -> each.type() == error).findFirst().orElseThrow();
        Map<String, String> said = Map.of(
                "code", kind.code(), "detail", "The fake was told so.", "request_id", "req_" + "0".repeat(28));
        return Problem.of(new Problem.Told(kind.status(), said, null, retryAfter));
    }

    private static Reply told(Problem problem) {
        Map<String, Object> said = Map.of(
                "code", problem.code().orElseThrow(),
                "detail", problem.detail(),
                "request_id", problem.requestId().orElseThrow());
        Map<String, String> headers = problem.retryAfter()
                .map(wait -> Map.of("retry-after", String.valueOf(wait.toSeconds())))
                .orElse(Map.of());
        return new Reply(problem.status().orElseThrow(), headers, Json.write(said));
    }
}
