package dev.alama.client;

import java.net.URI;
import java.net.URISyntaxException;
import java.net.http.HttpClient;
import java.time.Duration;
import java.time.LocalDate;
import java.util.ArrayDeque;
import java.util.Collection;
import java.util.HashMap;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.NoSuchElementException;
import java.util.Spliterator;
import java.util.Spliterators;
import java.util.UUID;
import java.util.function.Supplier;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import java.util.stream.StreamSupport;

/**
 * A client of Alama, the self-hosted credit scoring service.
 *
 * <pre>{@code
 * Alama alama = new Alama("https://scores.example.com", key);
 * Score score = alama.score(application);
 * }</pre>
 *
 * <p>Safe for threads: one is enough for a program, and there is nothing to close. Whatever goes wrong is an {@link
 * AlamaError}. A thread that is interrupted while it waits gets a {@link ConnectionFailed}, and stays interrupted.
 */
public final class Alama {
    static final String VERSION = "0.1.0";

    private final Transport transport;
    private final String baseUrl;
    private final Map<String, String> headers;
    private final Duration timeout;
    private final Duration totalTimeout;
    private final int retries;
    private final Supplier<String> traceparent;

    /** A client as usual; {@link #builder} makes others. */
    public Alama(String baseUrl, String key) {
        this(builder(baseUrl).key(key));
    }

    /** Begin a client of the service at this address. */
    public static Builder builder(String baseUrl) {
        return new Builder(baseUrl);
    }

    private Alama(Builder builder) {
        this.transport = builder.transport();
        this.baseUrl = builder.baseUrl;
        this.timeout = builder.timeout;
        this.totalTimeout = builder.totalTimeout;
        this.retries = builder.retries;
        this.traceparent = builder.traceparent;
        this.headers = new HashMap<>();
        headers.put("accept", "application/json");
        headers.put("user-agent", "alama-client-java/" + VERSION);
        if (builder.key != null) {
            headers.put("authorization", "Bearer " + builder.key);
        }
    }

    @Override
    public String toString() {
        return "Alama[" + baseUrl + "]";
    }

    // -------------------------------------------------------------------------------------------- scores

    /** Score an application, once, however often it has to be sent. */
    public Score score(Application application) {
        return score(application, new ScoreOptions());
    }

    /** Score an application, once, however often it has to be sent. */
    public Score score(Application application, ScoreOptions options) {
        InvalidArgument.unlessNull(options, "the options");
        return run(scoring(application, options.expand, options.language, options.idempotencyKey));
    }

    private Call<Score> scoring(Application application, List<Expand> expand, Language language, String key) {
        InvalidArgument.unlessNull(application, "the application");
        return Call.post("/v1/score", application.fields(), said -> Reader.read(Score.class, said))
                .with("expand", expand.stream().map(Expand::word).collect(Collectors.joining(",")))
                .with("language", language == null ? null : language.word())
                .under(key == null ? UUID.randomUUID().toString() : key);
    }

    /** Score many, in order, as fast as the key may: see {@link #scoreMany(Iterable, ManyOptions)}. */
    public Stream<Scored> scoreMany(Iterable<Application> applications) {
        return scoreMany(applications, new ManyOptions());
    }

    /**
     * Score many, each once, as fast as the key may.
     *
     * <p>The applications are read as they are needed, so they may be a file of millions. A row that fails is told in
     * its place, and harms no other. Close the stream where you leave it before its end: what has not been sent then
     * never is.
     */
    public Stream<Scored> scoreMany(Iterable<Application> applications, ManyOptions options) {
        InvalidArgument.unlessNull(applications, "the applications");
        InvalidArgument.unlessNull(options, "the options");
        Pace pace = new Pace(transport::now);
        Many rows = new Many(applications.iterator(), options.inOrder, options.atOnce, application -> {
            String key = options.keyOf.apply(application);
            Call<Score> call = scoring(application, options.expand, options.language, key);
            Map<String, String> sent = headers(call); // here, since the trace context is of this thread
            return () -> run(call, sent, pace);
        });
        return stream(rows).onClose(rows::close);
    }

    /** Read a score back, with what was sent and what came of it. */
    public StoredScore getScore(String requestId) {
        return run(Call.get(
                "/v1/scores/" + Call.id(requestId), said -> Reader.read(StoredScore.class, said)));
    }

    /** Give all scores, the newest first; pages are read as they are needed. */
    public Stream<ListedScore> listScores() {
        return listScores(new ListOptions());
    }

    /** Give scores, the newest first; pages are read as they are needed. */
    public Stream<ListedScore> listScores(ListOptions options) {
        InvalidArgument.unlessNull(options, "the options");
        return stream(new Pages(options.pageSize, options.waiting));
    }

    /** Keep what an officer decided on a score. The first review stands. */
    public Review review(String requestId, ReviewDecision decision, ReviewReason reason, String name) {
        return review(requestId, decision, reason, name, "");
    }

    /** Keep what an officer decided on a score, with a note. The first review stands. */
    public Review review(String requestId, ReviewDecision decision, ReviewReason reason, String name, String note) {
        Map<String, Object> said = new LinkedHashMap<>();
        said.put("decision", InvalidArgument.unlessNull(decision, "the decision").word());
        said.put("reason", InvalidArgument.unlessNull(reason, "the reason").word());
        said.put("name", name);
        if (!InvalidArgument.unlessNull(note, "the note").isEmpty()) {
            said.put("note", note);
        }
        String path = "/v1/scores/" + Call.id(requestId) + "/review";
        return run(Call.post(path, said, answer -> Reader.read(Review.class, answer)));
    }

    // -------------------------------------------------------------------------------------------- outcomes

    /**
     * Say what became of a loan. The same may be said twice, late and in any order.
     *
     * <p>What Alama refuses is no exception: look at {@link OutcomeResult#refused}.
     */
    public OutcomeResult recordOutcome(String requestId, OutcomeKind outcome, LocalDate date) {
        return recordOutcome(new NewOutcome(requestId, outcome, date));
    }

    /** Say what became of a loan: see {@link #recordOutcome(String, OutcomeKind, LocalDate)}. */
    public OutcomeResult recordOutcome(NewOutcome outcome) {
        return recordOutcomes(List.of(InvalidArgument.unlessNull(outcome, "the outcome"))).get(0);
    }

    /** Say what became of up to 1,000 loans; each gets a result of its own, in order. */
    public List<OutcomeResult> recordOutcomes(Collection<NewOutcome> outcomes) {
        InvalidArgument.unlessNull(outcomes, "the outcomes");
        return tell("outcomes", outcomes.stream().map(NewOutcome::members).toList(), OutcomeResult.class);
    }

    /**
     * Say what was lent and paid back, up to 1,000 events; each gets a result of its own, in order. The same may be
     * said twice, late and in any order.
     */
    public List<LoanResult> recordLoans(Collection<NewLoanEvent> events) {
        InvalidArgument.unlessNull(events, "the events");
        return tell("loans", events.stream().map(NewLoanEvent::members).toList(), LoanResult.class);
    }

    /** Tell a list, by the name of its path, each of which gets a result. */
    private <T extends Record> List<T> tell(String name, List<Map<String, Object>> told, Class<T> kind) {
        return run(Call.post("/v1/" + name, Map.of(name, told), said -> {
            var results = Reader.list(kind, Reader.object(said).get("results"));
            if (results.size() != told.size()) {
                throw new IllegalArgumentException("each of them has a result");
            }
            return results;
        }));
    }

    // -------------------------------------------------------------------------------------------- explaining

    /** Say why an application is decided so, and what would lead to an approval. Stores nothing. */
    public Explanation explain(Application application) {
        return explain(application, new ExplainOptions());
    }

    /** Say why an application is decided so, and what would lead to the target. Stores nothing. */
    public Explanation explain(Application application, ExplainOptions options) {
        InvalidArgument.unlessNull(application, "the application");
        InvalidArgument.unlessNull(options, "the options");
        return run(Call.post("/v1/explain", application.fields(), said -> Reader.read(Explanation.class, said))
                .with("target", options.target)
                .with("ways", options.ways)
                .with("locked", String.join(",", options.locked))
                .with("language", options.language == null ? null : options.language.word()));
    }

    /** Say whether Alama can serve; needs no key. */
    public Health health() {
        return run(Call.get("/v1/health", said -> Reader.read(Health.class, said)).answeredBy503());
    }

    /** Say what the key is that this client has; never the key itself. */
    public OwnKey key() {
        return run(Call.get("/v1/key", said -> Reader.read(OwnKey.class, said)));
    }

    // -------------------------------------------------------------------------------------------- webhooks

    /** Have all events sent to a URL: see {@link #makeEndpoint(String, Collection, String)}. */
    public NewWebhookEndpoint makeEndpoint(String url) {
        return makeEndpoint(url, List.of(), "");
    }

    /**
     * Have events of some kinds sent to a URL, such as {@code score.created}; of no kind: all. Keep the secret.
     *
     * <p>Not sent again when its answer is lost: look in {@link #listEndpoints}, and delete an endpoint whose secret
     * nobody has.
     */
    public NewWebhookEndpoint makeEndpoint(String url, Collection<String> kinds, String description) {
        Map<String, Object> said = new LinkedHashMap<>();
        said.put("url", url);
        said.put("kinds", kinds);
        said.put("description", description);
        return run(Call.post("/v1/webhook_endpoints", said, answer -> Reader.read(NewWebhookEndpoint.class, answer))
                .onceOnly());
    }

    /** Give all endpoints, without their secrets. */
    public List<WebhookEndpoint> listEndpoints() {
        return run(Call.get(
                "/v1/webhook_endpoints",
                said -> Reader.list(WebhookEndpoint.class, Reader.object(said).get("data"))));
    }

    /** Have a {@code webhook.test} sent to an endpoint, whatever kinds it wants. Its attempts tell what came of it. */
    public TestSent testEndpoint(String endpointId) {
        String path = "/v1/webhook_endpoints/" + Call.id(endpointId) + "/test";
        return run(Call.post(path, said -> Reader.read(TestSent.class, said)));
    }

    /** Send nothing more to an endpoint. */
    public void deleteEndpoint(String endpointId) {
        run(Call.delete("/v1/webhook_endpoints/" + Call.id(endpointId)));
    }

    // -------------------------------------------------------------------------------------------- sending

    private <T> T run(Call<T> call) {
        return run(call, headers(call), null);
    }

    private <T> T run(Call<T> call, Map<String, String> sent, Pace pace) {
        try {
            awaitTurn(pace);
            Tries tries = new Tries(call.repeatable(), transport::now, retries, timeout, totalTimeout);
            while (true) {
                try {
                    return call.read(send(call, sent, tries.timeout(), pace));
                } catch (AlamaError error) {
                    boolean refused = pace != null && error.status().orElse(0) == Tries.TOO_MANY_REQUESTS;
                    transport.sleep(tries.await(error, refused));
                }
                awaitTurn(pace);
            }
        } catch (InterruptedException error) {
            throw interrupted(error);
        }
    }

    static ConnectionFailed interrupted(InterruptedException error) {
        Thread.currentThread().interrupt();
        return new ConnectionFailed("this thread was interrupted while it waited for Alama", true, error);
    }

    private void awaitTurn(Pace pace) throws InterruptedException {
        double wait = pace == null ? 0 : pace.takeTurn();
        while (wait > 0) {
            transport.sleep(wait);
            wait = pace.closed();
        }
    }

    private Reply send(Call<?> call, Map<String, String> sent, Duration timeout, Pace pace)
            throws InterruptedException {
        Reply reply = null;
        try {
            reply = transport.send(call, sent, timeout);
        } finally {
            if (pace != null) {
                pace.heard(reply);
            }
        }
        return reply;
    }

    private Map<String, String> headers(Call<?> call) {
        Map<String, String> sent = new HashMap<>(headers);
        if (call.body() != null) {
            sent.put("content-type", "application/json");
        }
        if (call.idempotencyKey() != null) {
            sent.put("idempotency-key", call.idempotencyKey());
        }
        String trace = traceparent.get();
        if (trace != null) {
            sent.put("traceparent", Call.header("traceparent", trace));
        }
        return sent;
    }

    private static <T> Stream<T> stream(Iterator<T> each) {
        int nature = Spliterator.ORDERED | Spliterator.NONNULL;
        return StreamSupport.stream(Spliterators.spliteratorUnknownSize(each, nature), false);
    }

    /** The scores of all pages, each read when it is needed. */
    private final class Pages implements Iterator<ListedScore> {
        private final Call<Page> first;
        private final ArrayDeque<ListedScore> items = new ArrayDeque<>();
        private Call<Page> next;

        Pages(int pageSize, boolean waiting) {
            first = Call.get("/v1/scores", Page::of)
                    .with("limit", pageSize)
                    .with("waiting", waiting ? "true" : null);
            next = first;
        }

        @Override
        public boolean hasNext() {
            while (items.isEmpty() && next != null) {
                Page page = run(next);
                items.addAll(page.items);
                next = page.nextCursor == null ? null : first.with("cursor", page.nextCursor);
            }
            return !items.isEmpty();
        }

        @Override
        public ListedScore next() {
            if (!hasNext()) {
                throw new NoSuchElementException();
            }
            return items.remove();
        }
    }

    private record Page(List<ListedScore> items, String nextCursor) {
        static Page of(Object said) {
            Map<String, Object> members = Reader.object(said);
            Object cursor = members.get("next_cursor");
            if (!members.containsKey("next_cursor") || !(cursor == null || cursor instanceof String)) {
                throw new IllegalArgumentException("next_cursor is missing");
            }
            return new Page(Reader.list(ListedScore.class, members.get("data")), (String) cursor);
        }
    }

    /** A client that is being made. */
    public static final class Builder {
        private static final int PORT_MAX = 65_535;

        private final String baseUrl;
        private String key;
        private Duration timeout = Duration.ofSeconds(10);
        private Duration totalTimeout = Duration.ofSeconds(60);
        private int retries = 4;
        private Supplier<String> traceparent = () -> null;
        private HttpClient http;
        private Transport transport;

        private Builder(String baseUrl) {
            if (!isAddress(baseUrl)) {
                String rule = "the address of Alama is https:// or http://, a host, and perhaps a port and a path";
                throw new InvalidArgument(rule); // without the address, which may hold a password
            }
            this.baseUrl = baseUrl.replaceFirst("/+$", "");
        }

        private static boolean isAddress(String text) {
            if (text == null || !text.matches("https?://.*")) {
                return false;
            }
            try {
                URI address = new URI(text);
                return address.getHost() != null
                        && address.getPort() <= PORT_MAX
                        && address.getRawUserInfo() == null
                        && address.getRawQuery() == null
                        && address.getRawFragment() == null;
            } catch (URISyntaxException error) {
                return false;
            }
        }

        /** The API key. Without one a client can ask for {@link Alama#health} alone. */
        public Builder key(String key) {
            this.key = Call.header("API key", key);
            return this;
        }

        /** Of one attempt, to the last byte of its answer: 10 seconds. */
        public Builder timeout(Duration timeout) {
            this.timeout = positive(timeout);
            return this;
        }

        /** Of a call with all its retries and waits: 60 seconds. */
        public Builder totalTimeout(Duration totalTimeout) {
            this.totalTimeout = positive(totalTimeout);
            return this;
        }

        /** Attempts after the first: 4. */
        public Builder retries(int retries) {
            if (retries < 0) {
                throw new InvalidArgument("there are no fewer retries than none");
            }
            this.retries = retries;
            return this;
        }

        /** Gives the trace context of the moment (W3C), or null; asked in the thread of the call. */
        public Builder traceparent(Supplier<String> traceparent) {
            this.traceparent = InvalidArgument.unlessNull(traceparent, "the source of traceparent");
            return this;
        }

        /** A client of your own, for proxies or certificates; it must not follow redirects. */
        public Builder http(HttpClient http) {
            if (InvalidArgument.unlessNull(http, "the HTTP client").followRedirects() != HttpClient.Redirect.NEVER) {
                throw new InvalidArgument("a client that follows redirects would take the key elsewhere");
            }
            this.http = http;
            return this;
        }

        Builder transport(Transport transport) {
            this.transport = transport;
            return this;
        }

        private Transport transport() {
            if (transport != null) {
                return transport;
            }
            return new Transport.Http(http == null ? HttpClient.newHttpClient() : http, baseUrl);
        }

        private static Duration positive(Duration duration) {
            if (InvalidArgument.unlessNull(duration, "the time-out").isNegative() || duration.isZero()) {
                throw new InvalidArgument("a time-out is longer than nothing");
            }
            return duration;
        }

        /** The client. */
        public Alama build() {
            return new Alama(this);
        }
    }
}
