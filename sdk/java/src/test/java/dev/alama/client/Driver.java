package dev.alama.client;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.lang.reflect.RecordComponent;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.time.LocalDate;
import java.time.temporal.Temporal;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.function.Supplier;
import java.util.stream.Stream;

/** The driver of the contract suite, by the public API alone (but for the JSON of its lines): see sdk/contract. */
final class Driver {
    private final Alama alama;
    private final Map<String, Object> args;

    private Driver(Map<String, Object> line) {
        args = Reader.object(line.get("args"));
        Alama.Builder builder = Alama.builder((String) line.get("base_url"))
                .timeout(seconds(line.get("timeout_s")))
                .totalTimeout(seconds(line.get("total_s")))
                .retries(((Number) line.get("retries")).intValue())
                .traceparent(() -> text("traceparent"));
        alama = line.get("key") instanceof String key ? builder.key(key).build() : builder.build();
    }

    public static void main(String[] arguments) throws IOException {
        warmUp();
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        PrintStream out = new PrintStream(System.out, true, StandardCharsets.UTF_8);
        for (String text = lines.readLine(); text != null; text = lines.readLine()) {
            Map<String, Object> line = Reader.object(Json.read(text.getBytes(StandardCharsets.UTF_8)));
            Driver driver = new Driver(line);
            Map<String, Object> answer = new LinkedHashMap<>(Map.of("id", line.get("id")));
            answer.putAll(said(() -> driver.act((String) line.get("do"))));
            out.println(new String(Json.write(answer), StandardCharsets.US_ASCII));
        }
    }

    /** Load the classes of a call before anybody's watch runs: nobody listens on port 1. */
    private static void warmUp() {
        try {
            Alama.builder("http://127.0.0.1:1").retries(0).build().health();
        } catch (ConnectionFailed expected) {
            return;
        }
        throw new AssertionError("somebody listens on port 1");
    }

    private static Map<String, Object> said(Supplier<Object> act) {
        Map<String, Object> answer = new LinkedHashMap<>();
        try {
            answer.put("ok", plain(act.get()));
        } catch (AlamaError error) {
            answer.put("error", told(error));
        }
        return answer;
    }

    private Object act(String what) {
        return switch (what) {
            case "score" -> score();
            case "explain" -> explain();
            case "health" -> alama.health();
            case "get_score" -> alama.getScore(text("request_id"));
            case "list_scores" -> listScores();
            case "score_many" -> scoreMany();
            case "record_outcome" -> alama.recordOutcome(
                    text("request_id"), new OutcomeKind(text("outcome")), LocalDate.parse(text("date")));
            case "review" -> alama.review(
                    text("request_id"),
                    new ReviewDecision(text("decision")),
                    new ReviewReason(text("reason")),
                    text("name"),
                    Optional.ofNullable(text("note")).orElse(""));
            case "make_endpoint" -> alama.makeEndpoint(text("url"), texts("kinds"), text("description"));
            case "list_endpoints" -> alama.listEndpoints();
            case "delete_endpoint" -> {
                alama.deleteEndpoint(text("id"));
                yield null;
            }
            case "test_endpoint" -> alama.testEndpoint(text("id"));
            case "verify_webhook" -> verify();
            case "race" -> race();
            default -> throw new IllegalArgumentException(what);
        };
    }

    private Score score() {
        ScoreOptions options = new ScoreOptions()
                .expand(texts("expand").stream().map(Expand::new).toArray(Expand[]::new))
                .language(language())
                .idempotencyKey(text("idempotency_key"));
        return alama.score(application(args.get("application")), options);
    }

    private Explanation explain() {
        ExplainOptions options = new ExplainOptions()
                .target(text("target"))
                .locked(texts("locked").toArray(String[]::new))
                .language(language());
        if (args.getOrDefault("ways", args.get("limit")) instanceof Number ways) {
            options.ways(ways.intValue());
        }
        return alama.explain(application(args.get("application")), options);
    }

    private List<ListedScore> listScores() {
        ListOptions options = new ListOptions().pageSize(((Number) args.get("limit")).intValue());
        return alama.listScores(Boolean.TRUE.equals(args.get("waiting")) ? options.waiting() : options).toList();
    }

    private List<Object> scoreMany() {
        List<Application> applications =
                ((List<?>) args.get("applications")).stream().map(Driver::application).toList();
        ManyOptions options = new ManyOptions();
        boolean inOrder = Boolean.TRUE.equals(args.get("in_order"));
        try (Stream<Scored> rows = alama.scoreMany(applications, inOrder ? options : options.asTheyCome())) {
            return rows.<Object>map(Driver::row).toList();
        }
    }

    private static Map<String, Object> row(Scored row) {
        Map<String, Object> answer = said(row::result);
        answer.put("index", row.index());
        return answer;
    }

    private Object verify() {
        Map<String, String> headers = new LinkedHashMap<>();
        Reader.object(args.get("headers")).forEach((name, text) -> headers.put(name, (String) text));
        byte[] body = text("body").getBytes(StandardCharsets.UTF_8);
        Event event = Webhooks.verify(body, headers, texts("secrets").toArray(String[]::new));
        Map<String, Object> data = new LinkedHashMap<>(Reader.object(event.raw().get("data")));
        data.putAll(members((Record) event));
        return Map.of(
                "event", event.getClass().getSimpleName(),
                "id", event.id(),
                "type", event.type(),
                "timestamp", event.timestamp(),
                "data", data);
    }

    private List<Object> race() {
        int count = ((Number) args.get("n")).intValue();
        ExecutorService racers = Executors.newFixedThreadPool(count);
        try {
            return Stream.generate(() -> CompletableFuture.supplyAsync(() -> said(this::score), racers))
                    .limit(count)
                    .toList()
                    .stream()
                    .<Object>map(CompletableFuture::join)
                    .toList();
        } finally {
            racers.shutdown();
        }
    }

    // -------------------------------------------------------------------------------------------- from and to JSON

    private static Application application(Object fields) {
        return Application.of(Reader.object(fields));
    }

    private String text(String name) {
        return (String) args.get(name);
    }

    private List<String> texts(String name) {
        Object found = args.get(name);
        return found == null ? List.of() : ((List<?>) found).stream().map(String.class::cast).toList();
    }

    private Language language() {
        return text("language") == null ? null : new Language(text("language"));
    }

    private static Duration seconds(Object number) {
        return Duration.ofNanos((long) (((Number) number).doubleValue() * 1e9));
    }

    private static Map<String, Object> told(AlamaError error) {
        Map<String, Object> told = new LinkedHashMap<>();
        told.put("type", error.getClass().getSimpleName());
        told.put("code", error.code().orElse(null));
        told.put("status", error.status().isPresent() ? error.status().getAsInt() : null);
        told.put("request_id", error.requestId().orElse(null));
        told.put("errors", plain(error.errors()));
        told.put("retry_after", error.retryAfter().map(Duration::toMillis).map(ms -> ms / 1000.0).orElse(null));
        return told;
    }

    /** An answer as JSON, made of what the SDK has typed. */
    private static Object plain(Object value) {
        if (value instanceof Optional<?> perhaps) {
            return plain(perhaps.orElse(null));
        }
        if (value instanceof Record record) {
            return members(record);
        }
        if (value instanceof List<?> items) {
            return items.stream().map(Driver::plain).toList();
        }
        if (value instanceof Map<?, ?> members) {
            Map<Object, Object> plain = new LinkedHashMap<>();
            members.forEach((name, each) -> plain.put(name, plain(each)));
            return plain;
        }
        return value instanceof Temporal ? value.toString() : value;
    }

    private static Map<String, Object> members(Record record) {
        Map<String, Object> members = new LinkedHashMap<>();
        for (RecordComponent component : record.getClass().getRecordComponents()) {
            if (!component.getName().equals("raw")) {
                try {
                    members.put(Reader.wireName(component.getName()), plain(component.getAccessor().invoke(record)));
                } catch (ReflectiveOperationException error) {
                    throw new AssertionError(error);
                }
            }
        }
        return members;
    }
}
