package dev.alama.client;

import dev.alama.client.Event.ModelDriftDetectedEvent;
import dev.alama.client.Event.WebhookTestEvent;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.ObjectInputStream;
import java.io.ObjectOutputStream;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.lang.reflect.ParameterizedType;
import java.lang.reflect.RecordComponent;
import java.lang.reflect.Type;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.net.http.HttpClient;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.time.LocalDate;
import java.time.ZoneOffset;
import java.time.ZonedDateTime;
import java.time.format.DateTimeFormatter;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.Callable;
import java.util.function.Function;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.Stream;

/** The SDK by itself: each method without parameters is a test, which tests/sdk/test_java.py runs by its name. */
final class ClientTest {
    private static final Application COMPACT = Application.builder()
            .mobileMoneyMonths(24)
            .monthlyInflow(18_500)
            .stabilityScore(0.7)
            .airtimeRegularity(0.8)
            .build();

    private final FakeAlama fake = new FakeAlama();
    private final Alama alama = fake.client();

    /** Prints each failure as the name of its test and its stack, and each success as its name alone. */
    public static void main(String[] names) throws ReflectiveOperationException {
        for (Method test : ClientTest.class.getDeclaredMethods()) {
            if (test.getParameterCount() > 0 || test.isSynthetic() || test.getReturnType() != void.class) {
                continue;
            }
            System.out.println("# " + test.getName());
            try {
                test.invoke(new ClientTest());
            } catch (InvocationTargetException error) {
                error.getCause().printStackTrace(System.out);
            }
        }
    }

    // -------------------------------------------------------------------------------------------- retries

    void aScoreIsAskedForAgainWithTheSameBytesAndKey() {
        fake.fail(TimedOut.class)
                .fail(Problem.Unavailable.class, 1, Duration.ofSeconds(2))
                .fail(Problem.InternalError.class);
        Score score = alama.score(COMPACT);
        same(Set.of(score.requestId()), fake.scores().keySet());
        same(4, fake.requests().size());
        same(1L, fake.requests().stream().map(each -> each.headers().get("idempotency-key")).distinct().count());
        same(1L, fake.requests().stream().map(each -> Arrays.hashCode(each.body())).distinct().count());
        isTrue(fake.waited().compareTo(Duration.ofMillis(2_500)) >= 0);
    }

    void retriesEnd() {
        fake.fail(ConnectionFailed.class, 9);
        throwsError(ConnectionFailed.class, () -> fake.builder().retries(2).build().score(COMPACT));
        same(3, fake.requests().size());
    }

    void aWaitThatIsTooLongIsNotBegun() {
        fake.fail(Problem.Unavailable.class, 1, Duration.ofSeconds(61));
        var error = throwsError(Problem.Unavailable.class, () -> alama.score(COMPACT));
        same(Optional.of(Duration.ofSeconds(61)), error.retryAfter());
        same(1, fake.requests().size());
    }

    void anEndpointIsNotMadeTwice() {
        fake.fail(Problem.InternalError.class);
        throwsError(Problem.InternalError.class, () -> alama.makeEndpoint("https://loans.example.com/hook"));
        fake.fail(Problem.TooManyRequests.class);
        same(FakeAlama.SECRET, alama.makeEndpoint("https://loans.example.com/hook").secret());
        same(1, alama.listEndpoints().size());
    }

    void aThreadThatIsInterruptedStaysSo() {
        Thread.currentThread().interrupt();
        throwsError(ConnectionFailed.class, () -> alama.score(COMPACT));
        isTrue(Thread.interrupted());
        Alama real = Alama.builder("http://127.0.0.1:1").totalTimeout(Duration.ofMinutes(9)).build();
        Thread.currentThread().interrupt();
        throwsError(ConnectionFailed.class, real::health);
        isTrue(Thread.interrupted());
    }

    void whereNobodyListensNothingWasSent() {
        Alama real = Alama.builder("http://127.0.0.1:1").retries(0).build();
        isTrue(!throwsError(ConnectionFailed.class, real::health).wasSent());
    }

    void retryAfterIsSecondsOrADate() {
        same(Duration.ofSeconds(7), Tries.retryAfter("7"));
        String soon = ZonedDateTime.now(ZoneOffset.UTC).plusSeconds(30).format(DateTimeFormatter.RFC_1123_DATE_TIME);
        long wait = Tries.retryAfter(soon).toSeconds();
        isTrue(wait > 27 && wait <= 30);
        same(Duration.ZERO, Tries.retryAfter("Wed, 21 Oct 2015 07:28:00 GMT"));
        for (String wrong : new String[] {null, "", "soon", "-1", "²", "99999999999999999999"}) {
            same(null, Tries.retryAfter(wrong));
        }
    }

    // -------------------------------------------------------------------------------------------- many

    void pagesAreReadToTheEnd() {
        List<String> given = IntStream.range(0, 7).mapToObj(n -> alama.score(COMPACT).requestId()).toList();
        List<String> listed = alama.listScores(new ListOptions().pageSize(3)).map(ListedScore::requestId).toList();
        same(given.stream().sorted((one, other) -> other.compareTo(one)).toList(), listed);
        same(3L, fake.requests().stream().filter(each -> each.path().equals("/v1/scores")).count());
    }

    void pagesAreReadAsTheyAreNeeded() {
        IntStream.range(0, 7).forEach(n -> alama.score(COMPACT));
        Iterator<ListedScore> listed = alama.listScores(new ListOptions().pageSize(3)).iterator();
        listed.next();
        same(8, fake.requests().size());
    }

    void rowsComeInOrderWhateverHappensToThem() {
        fake.fail(Problem.TooManyRequests.class, 30).fail(ConnectionFailed.class, 3);
        List<Application> applications = IntStream.range(0, 50)
                .mapToObj(n -> COMPACT.toBuilder().counterparties(n).build())
                .toList();
        List<Scored> rows = alama.scoreMany(applications).toList();
        for (int n = 0; n < 50; n++) {
            same(n, rows.get(n).index());
            Object sent = fake.scores().get(rows.get(n).result().requestId()).get("application");
            same((long) n, ((Map<?, ?>) sent).get("counterparties"));
        }
        same(50, fake.scores().size());
    }

    void aRowThatFailsIsToldInItsPlace() {
        fake.fail(Problem.InvalidApplication.class);
        ManyOptions options = new ManyOptions().keyOf(application -> "one").asTheyCome();
        List<Scored> rows = alama.scoreMany(List.of(COMPACT, COMPACT, COMPACT, COMPACT, COMPACT), options).toList();
        same(List.of(0, 1, 2, 3, 4), rows.stream().map(Scored::index).sorted().toList());
        List<Scored> failed = rows.stream().filter(row -> row.error().isPresent()).toList();
        same(1, failed.size());
        throwsError(Problem.InvalidApplication.class, failed.get(0)::result);
        same(1, fake.scores().size());
    }

    void leavingManyInTheMiddleLeavesNothingRunning() throws InterruptedException {
        try (Stream<Scored> rows = alama.scoreMany(endless(), new ManyOptions().atOnce(2))) {
            rows.iterator().next();
        }
        int sent = fake.requests().size();
        isTrue(sent < 50);
        Thread.sleep(50);
        same(sent, fake.requests().size());
    }

    void aStreamThatNobodyClosesLeavesNoThread() throws InterruptedException {
        alama.scoreMany(endless()).iterator().next();
        long end = System.nanoTime() + Duration.ofSeconds(30).toNanos();
        while (workers() > 0) {
            isTrue(System.nanoTime() < end);
            Thread.sleep(50);
        }
    }

    private static long workers() {
        Set<Thread> all = Thread.getAllStackTraces().keySet();
        return all.stream().filter(each -> each.getName().equals("alama-score-many")).count();
    }

    private static Iterable<Application> endless() {
        return () -> Stream.generate(() -> COMPACT).iterator();
    }

    void theTraceContextIsThatOfTheThreadOfTheCall() {
        ThreadLocal<String> context = ThreadLocal.withInitial(() -> null);
        Alama traced = fake.builder().traceparent(context::get).build();
        context.set("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01");
        traced.scoreMany(List.of(COMPACT, COMPACT)).forEach(Scored::result);
        isTrue(fake.requests().stream().allMatch(each -> context.get().equals(each.headers().get("traceparent"))));
    }

    void asManyGoAtOnceAsAreLeftAndThenOneByOne() {
        double[] clock = {1_000};
        Pace pace = new Pace(() -> clock[0]);
        for (int n = 0; n < 3; n++) {
            same(0.0, pace.takeTurn()); // nothing is known yet
        }
        for (int n = 0; n < 3; n++) {
            pace.heard(told(2, 200, Map.of()));
        }
        for (double expected : new double[] {0, 0, 0.1, 0.2}) {
            near(expected, pace.takeTurn());
        }
        clock[0] += 0.3;
        near(0, pace.takeTurn());
    }

    void whatIsOnItsWayIsNoLongerLeft() {
        Pace pace = new Pace(() -> 1_000);
        for (int n = 0; n < 5; n++) {
            pace.takeTurn();
        }
        pace.heard(told(6, 200, Map.of())); // the four others take four of these
        same(0.0, pace.takeTurn());
        same(0.0, pace.takeTurn());
        isTrue(pace.takeTurn() > 0);
    }

    void nobodySendsWhileOneWasToldToWait() {
        double[] clock = {1_000};
        Pace pace = new Pace(() -> clock[0]);
        pace.takeTurn();
        pace.heard(told(0, 429, Map.of("retry-after", "3")));
        near(3, pace.takeTurn());
        clock[0] += 2;
        near(1, pace.closed());
        clock[0] += 1;
        near(0, pace.closed());
    }

    private static Reply told(int left, int status, Map<String, String> more) {
        Map<String, String> headers = new HashMap<>(more);
        headers.put("ratelimit", "\"key\";r=" + left + ";t=1");
        headers.put("ratelimit-policy", "\"key\";q=20;w=2");
        return new Reply(status, headers, new byte[0]);
    }

    // -------------------------------------------------------------------------------------------- answers

    void membersThatAreNotKnownAreKept() {
        Map<String, Object> shap = Map.of("feature", "f", "contribution", 1, "unit", "p");
        fake.answer(Map.of("added", Map.of("deep", List.of(1)), "shap_values", List.of(shap)));
        Score score = alama.score(COMPACT);
        same(Map.of("deep", List.of(1L)), score.raw().get("added"));
        same("p", score.shapValues().get(0).raw().get("unit"));
    }

    void whatIsNoScoreIsNoAnswer() {
        Map<String, Object> none = new HashMap<>();
        none.put("tier", null);
        for (Map<String, ?> wrong : List.of(
                Map.of("score", "700"),
                Map.of("score", 700.5),
                Map.of("shap_values", Map.of()),
                Map.of("tier", 1),
                none)) {
            Alama once = new FakeAlama().answer(wrong).builder().retries(0).build();
            var error = throwsError(ConnectionFailed.class, () -> once.score(COMPACT));
            same("what came is no answer of Alama", error.getMessage());
        }
    }

    void moneyIsExact() {
        fake.answer(Map.of("recommended_limit", new BigDecimal("12345678901234.57")));
        same(new BigDecimal("12345678901234.57"), alama.score(COMPACT).recommendedLimit());
        Application application = COMPACT.toBuilder().requestedAmount(new BigDecimal("1500.50")).build();
        alama.score(application);
        FakeAlama.Request last = fake.requests().get(1);
        isTrue(new String(last.body(), StandardCharsets.UTF_8).contains("\"requested_amount\":1500.50"));
    }

    void outcomesHaveDates() {
        alama.recordOutcome(new NewOutcome("req_1", OutcomeKind.DEFAULTED, LocalDate.of(2026, 11, 16))
                .repaidAmount(10_400)
                .defaultedOn(LocalDate.of(2026, 11, 15))
                .corrects());
        same(
                Map.of(
                        "request_id", "req_1",
                        "outcome", "defaulted",
                        "date", "2026-11-16",
                        "repaid_amount", 10_400L,
                        "defaulted_on", "2026-11-15",
                        "corrects", true),
                fake.outcomes().get(0));
    }

    void anOutcomeThatIsRefusedSaysSo() {
        OutcomeResult refused = alama.recordOutcome("req_1", OutcomeKind.REPAID, LocalDate.of(2026, 11, 16));
        same("unknown_score", refused.result());
        isTrue(refused.refused() && refused.message().isPresent());
        same(Optional.empty(), refused.isDefault());
        String id = alama.score(COMPACT).requestId();
        OutcomeResult kept = alama.recordOutcome(id, OutcomeKind.REPAID, LocalDate.of(2026, 11, 16));
        isTrue(!kept.refused() && kept.isDefault().isPresent());
    }

    void loansAreToldAndAnsweredInTheirOrder() {
        LocalDate day = LocalDate.of(2026, 11, 16);
        NewLoanEvent lent = NewLoanEvent.disbursed("cust-1", "L-1", day, 900).due(day.plusDays(60), 1_000, 2);
        NewLoanEvent paid = NewLoanEvent.payment("cust-1", "L-2", day, 500).id("P-1");
        List<LoanResult> told = alama.recordLoans(List.of(lent, paid, lent));
        same(List.of("L-1", "L-2", "L-1"), told.stream().map(LoanResult::loan).toList());
        isTrue(told.stream().noneMatch(LoanResult::refused));
        same("unchanged", alama.recordLoans(List.of(paid)).get(0).result());
        same("2027-01-15", fake.loans().get(0).get("due_date"));
    }

    void aScoreOfTheFakeIsTyped() {
        isTrue(alama.health().ok());
        same(Optional.empty(), alama.key().expiresAt());
        same("already_met", alama.explain(COMPACT).recourse());
        fake.answer(Map.of("decision", "REVIEW"));
        String id = alama.score(COMPACT).requestId();
        same(List.of(id), alama.listScores(new ListOptions().waiting()).map(ListedScore::requestId).toList());
        Review review = alama.review(id, ReviewDecision.APPROVED, ReviewReason.INCOME_VERIFIED, "W. Mutua", "seen");
        same(Optional.of(review), alama.getScore(id).review());
        throwsError(
                Problem.AlreadyReviewed.class,
                () -> alama.review(id, ReviewDecision.DECLINED, ReviewReason.OTHER, "W. Mutua"));
        same(0L, alama.listScores(new ListOptions().waiting()).count());
    }

    void anEndpointIsTried() {
        String id = alama.makeEndpoint("https://loans.example.com/hook").id();
        isTrue(alama.testEndpoint(id).event().matches("evt_[0-9a-f]{28}"));
        FakeAlama.Request last = fake.requests().get(1);
        same("POST /v1/webhook_endpoints/" + id + "/test", last.method() + " " + last.path());
        same(null, last.body());
        alama.deleteEndpoint(id);
        throwsError(Problem.UnknownWebhookEndpoint.class, () -> alama.testEndpoint(id));
        throwsError(InvalidArgument.class, () -> alama.testEndpoint(null));
    }

    @SuppressWarnings("deprecation") // the old spelling works, and says the same
    void theWaysOfAnExplanationAreCounted() {
        for (ExplainOptions options : List.of(new ExplainOptions().ways(2), new ExplainOptions().limit(2))) {
            alama.explain(COMPACT, options);
        }
        fake.requests().forEach(each -> same(Map.of("ways", "2"), each.query()));
    }

    void aScoreThatIsNotThere() {
        throwsError(Problem.UnknownScore.class, () -> alama.getScore("req_0/../health"));
    }

    void aFieldThatIsNullIsNotSent() {
        Application application = COMPACT.toBuilder().region("Nyeri").region(null).build();
        same(COMPACT, application);
        same(24.0, application.number("mobile_money_months"));
    }

    // -------------------------------------------------------------------------------------------- mistakes of callers

    void numbersThatAreNoneAreRefusedBeforeTheyAreSent() {
        for (Number wrong : List.of(Double.NaN, Double.POSITIVE_INFINITY, Float.NEGATIVE_INFINITY)) {
            Application.Builder application = COMPACT.toBuilder().avgBalance(wrong);
            same(
                    "avg_balance is NaN or infinite, which JSON cannot say",
                    throwsError(InvalidArgument.class, application::build).getMessage());
            throwsError(InvalidArgument.class, () -> Application.of(Map.of("avg_balance", wrong)));
            throwsError(InvalidArgument.class, () -> Application.of(Map.of("more", List.of(Map.of("deep", wrong)))));
            NewOutcome outcome =
                    new NewOutcome("req_1", OutcomeKind.REPAID, LocalDate.of(2026, 11, 16)).repaidAmount(wrong);
            throwsError(InvalidArgument.class, () -> alama.recordOutcome(outcome));
        }
        throwsError(InvalidArgument.class, () -> Application.of(Map.of("region", new Object())));
        same(List.of(), fake.requests());
    }

    void aKeyThatCannotBeSentIsRefusedAndNotShown() {
        for (String key : Arrays.asList(null, "", " ", "alama_test_1\n", "a\r\nb: c", "alama_test_é")) {
            var error = throwsError(InvalidArgument.class, () -> new Alama("https://scores.example.com", key));
            isTrue(error.getMessage().startsWith("the API key is missing, or has letters"));
            throwsError(InvalidArgument.class, () -> fake.builder().key(key));
        }
        ScoreOptions options = new ScoreOptions().idempotencyKey("mkopo-ñ"); // Java would send it as mkopo-?
        throwsError(InvalidArgument.class, () -> alama.score(COMPACT, options));
    }

    void anAddressThatIsNoneIsRefusedAtOnceAndNotShown() {
        for (String address : Arrays.asList(
                null, "", "scores.example.com", "scores.example.com:8000", "ftp://scores.example.com", "https://",
                "https:///v1", "http://my_host", "http://127.0.0.1:70000", "https://scores example.com",
                "https://me:word@scores.example.com", "https://scores.example.com?key=word",
                "https://scores.example.com#word")) {
            var error = throwsError(InvalidArgument.class, () -> Alama.builder(address));
            String rule = "the address of Alama is https:// or http://, a host, and perhaps a port and a path";
            same(rule, error.getMessage());
            same(null, error.getCause());
        }
        same("Alama[http://[::1]:8000/credit]", Alama.builder("http://[::1]:8000/credit/").build().toString());
    }

    void whatIsNullIsNamed() {
        String[] words = {
            throwsError(InvalidArgument.class, () -> alama.score(null)).getMessage(),
            throwsError(InvalidArgument.class, () -> alama.score(COMPACT, null)).getMessage(),
            throwsError(InvalidArgument.class, () -> alama.explain(null)).getMessage(),
            throwsError(InvalidArgument.class, () -> alama.explain(COMPACT, null)).getMessage(),
            throwsError(InvalidArgument.class, () -> alama.scoreMany(null)).getMessage(),
            throwsError(InvalidArgument.class, () -> alama.listScores(null)).getMessage(),
            throwsError(InvalidArgument.class, () -> alama.getScore(null)).getMessage(),
            throwsError(InvalidArgument.class, () -> alama.recordOutcome(null)).getMessage(),
            throwsError(InvalidArgument.class, () -> new NewOutcome("req_1", null, LocalDate.EPOCH)).getMessage(),
            throwsError(InvalidArgument.class, () -> alama.review("req_1", null, ReviewReason.OTHER, "W. Mutua"))
                    .getMessage(),
            throwsError(InvalidArgument.class, () -> Application.of(null)).getMessage(),
            throwsError(InvalidArgument.class, () -> fake.builder().timeout(null)).getMessage(),
        };
        same(
                List.of(
                        "the application is null", "the options are null", "the application is null",
                        "the options are null", "the applications are null", "the options are null", "the id is null",
                        "the outcome is null", "the outcome is null", "the decision is null", "the fields are null",
                        "the time-out is null"),
                List.of(words));
        same(List.of(), fake.requests());
    }

    void aRowThatCannotBeSentIsToldInItsPlace() {
        ManyOptions options = new ManyOptions().keyOf(each -> each.equals(COMPACT) ? "one" : "mkopo-ñ");
        Application other = COMPACT.toBuilder().counterparties(3).build();
        List<Scored> rows = alama.scoreMany(List.of(COMPACT, other, COMPACT), options).toList();
        same(List.of(true, false, true), rows.stream().map(row -> row.score().isPresent()).toList());
        throwsError(InvalidArgument.class, rows.get(1)::result);
    }

    void aClientThatFollowsRedirectsIsRefused() {
        HttpClient http = HttpClient.newBuilder().followRedirects(HttpClient.Redirect.NORMAL).build();
        throwsError(InvalidArgument.class, () -> Alama.builder("https://scores.example.com").http(http));
    }

    void numbersOfTheClientThatAreNoneAreRefused() {
        throwsError(InvalidArgument.class, () -> fake.builder().retries(-1));
        throwsError(InvalidArgument.class, () -> fake.builder().timeout(Duration.ZERO));
        throwsError(InvalidArgument.class, () -> fake.builder().totalTimeout(Duration.ofSeconds(-1)));
        throwsError(InvalidArgument.class, () -> new ManyOptions().atOnce(0));
    }

    void nothingShowsASecretOrAnApplicant() {
        same("Alama[https://alama.invalid]", alama.toString());
        isTrue(!alama.makeEndpoint("https://loans.example.com/hook").toString().contains("whsec_"));
        Application application = COMPACT.toBuilder().region("Nyeri").build();
        isTrue(application.toString().contains("region") && !application.toString().contains("Nyeri"));
        StoredScore stored = alama.getScore(alama.score(application).requestId());
        isTrue(stored.toString().contains("region") && !stored.toString().contains("Nyeri"));
        Object value = json("{\"feature\": \"region\", \"value\": \"Nyeri\", \"contribution\": 1}");
        same("ExplainedValue[feature=region, contribution=1.0]", Reader.read(ExplainedValue.class, value).toString());
        Object change = json("{\"feature\": \"mm_months\", \"from\": 3, \"to\": 9, \"text\": \"3 to 9\"}");
        same("Change[feature=mm_months]", Reader.read(Change.class, change).toString());
        fake.answer(Map.of("reasons", List.of(Map.of("code", "low_inflow", "text", "KES 1,537 on average"))));
        String said = alama.score(COMPACT, new ScoreOptions().expand(Expand.REASONS)).toString();
        isTrue(said.contains("low_inflow") && !said.contains("1,537"));
    }

    /** What may show of a record: all that has another name, and can hold a text or a figure, must not. */
    private static final Set<String> SHOWN = Set.of(
            // of decisions, and how they came about
            "requestId", "score", "tier", "defaultProbability", "decision", "recommendedLimit", "recommendedTermDays",
            "recommendedApr", "baseScore", "contribution", "feature", "features", "code", "rule", "rules", "cappedBy", "recourse",
            "language", "target", "model", "policy", "product", "mode", "keyId", "processingMs", "createdAt", "currency", "fee",
            "expectedLoss", "runningCost", "funding", "margin", "tax", "aprDefinition", "simple", "nominal", "effective",
            "dueInDays", "amount", "received", "principal", "interest", "total", "cost", "withinDays", "index",
            // of what became of them
            "outcome", "result", "date", "recordedAt", "reviewedAt", "givenDecision", "Review.reason",
            // of events and endpoints
            "id", "type", "timestamp", "activatedAt", "card", "firstDay", "lastDay", "scores", "Drift.name", "psi",
            "limit", "endpointId", "WebhookEndpointDisabledEvent.reason", "event", "url", "kinds", "description",
            "failingSince", "disabledAt", "disabledReason", "count", "nextAttemptAt",
            // of keys, but for the key
            "lender", "scopes", "expiresAt", "rateLimit", "burst",
            // fixed sentences of the service
            "Explanation.notice", "OutcomeResult.message", "LoanResult.message", "WebhookTestEvent.message",
            // of the service, of the fake, of a broken rule, and the words of open sets
            "status", "version", "Health.reason", "method", "path", "pointer", "FieldError.detail", "word");

    void noTypeShowsWhatItWasNotAllowedTo() throws Exception {
        List<Class<?>> types = publicTypes();
        List<String> shown = new ArrayList<>();
        int planted = 0;
        for (Class<?> type : types) {
            if (type.isRecord()) {
                Plants plants = new Plants();
                String said = plants.record(type).toString();
                plants.names.forEach((plant, name) -> {
                    if (said.contains(plant)) {
                        shown.add(name + " in " + said);
                    }
                });
                planted += plants.names.size();
            }
        }
        same(List.of(), shown);
        isTrue(planted >= 60); // so many were looked for
        // What is no record shows nothing but the name of its class, unless it says how it is shown: these do.
        List<String> others = types.stream()
                .filter(type -> !type.isRecord() && !Throwable.class.isAssignableFrom(type))
                .filter(type -> Arrays.stream(type.getDeclaredMethods()).anyMatch(m -> m.getName().equals("toString")))
                .map(Class::getSimpleName)
                .sorted()
                .toList();
        same(List.of("Alama", "Application"), others);
    }

    private static List<Class<?>> publicTypes() throws Exception {
        Path classes = Path.of(Alama.class.getProtectionDomain().getCodeSource().getLocation().toURI());
        List<Class<?>> found = new ArrayList<>();
        try (Stream<Path> files = Files.list(classes.resolve("dev/alama/client"))) {
            for (Path file : files.sorted().toList()) {
                String name = file.getFileName().toString();
                if (name.endsWith(".class") && !name.equals("package-info.class")) {
                    Class<?> type = Class.forName("dev.alama.client." + name.replaceFirst("\\.class$", ""));
                    Class<?> outer = type.getEnclosingClass() == null ? type : type.getEnclosingClass();
                    if (Modifier.isPublic(type.getModifiers() & outer.getModifiers())) {
                        found.add(type);
                    }
                }
            }
        }
        return found;
    }

    /** Values that are found again wherever they are shown, and what each of them is. */
    private static final class Plants {
        final Map<String, String> names = new LinkedHashMap<>();
        private int count;

        Object record(Class<?> type) throws ReflectiveOperationException {
            RecordComponent[] parts = type.getRecordComponents();
            Object[] values = new Object[parts.length];
            for (int n = 0; n < parts.length; n++) {
                String own = type.getSimpleName() + "." + parts[n].getName();
                boolean may = SHOWN.contains(parts[n].getName()) || SHOWN.contains(own);
                values[n] = value(parts[n].getGenericType(), may ? null : own);
            }
            Class<?>[] types = Arrays.stream(parts).map(RecordComponent::getType).toArray(Class<?>[]::new);
            return type.getDeclaredConstructor(types).newInstance(values);
        }

        private Object value(Type type, String name) throws ReflectiveOperationException {
            if (type instanceof ParameterizedType parted) {
                Type[] inner = parted.getActualTypeArguments();
                if (parted.getRawType() == Optional.class) {
                    return Optional.ofNullable(value(inner[0], name));
                }
                if (parted.getRawType() == List.class) {
                    return List.of(value(inner[0], name));
                }
                same(Map.class, parted.getRawType());
                Map<String, Object> members = Map.of("a_name", plant(name));
                return inner[1] == Object.class ? new Members(members) : members;
            }
            Class<?> kind = (Class<?>) type;
            if (kind.isRecord()) {
                return record(kind);
            }
            int number = 910_000_000 + ++count;
            if (kind == boolean.class || kind == Boolean.class) {
                return true;
            } else if (kind == int.class) {
                return planted(number, name);
            } else if (kind == double.class || kind == Double.class) {
                return planted(number / 1e3, name);
            } else if (kind == BigDecimal.class) {
                return planted(BigDecimal.valueOf(number), name);
            } else if (kind == Instant.class) {
                return planted(Instant.ofEpochSecond(9L * number), name);
            } else if (kind == LocalDate.class) {
                return planted(LocalDate.ofEpochDay(number / 100 + count), name);
            } else if (kind == byte[].class) {
                return plant(name).getBytes(StandardCharsets.US_ASCII);
            } else if (kind == Application.class) {
                return Application.of(Map.of("region", plant(name)));
            } else if (kind == AlamaError.class) {
                return null; // says what the service has said, which never has a value
            }
            isTrue(kind == String.class || kind == Object.class); // of another kind this has to make one, too
            return plant(name);
        }

        private String plant(String name) {
            return planted("plant-%d-".formatted(++count), name);
        }

        private <T> T planted(T value, String name) {
            if (name != null) {
                names.put(value.toString(), name);
            }
            return value;
        }
    }

    // -------------------------------------------------------------------------------------------- problems

    void aProblemSaysWhatIsWrongAndSurvivesAnotherProcess() throws Exception {
        Map<String, Object> said = Map.of(
                "code", "invalid_application",
                "detail", "1 rule is broken: see errors.",
                "request_id", "req_1",
                "errors", List.of(Map.of("pointer", "/a~1b", "code", "wrong_type", "detail", "must be a number"), 7));
        Problem error = Problem.of(new Problem.Told(422, said, null, Duration.ofSeconds(1)));
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        new ObjectOutputStream(bytes).writeObject(error);
        Object again = new ObjectInputStream(new ByteArrayInputStream(bytes.toByteArray())).readObject();
        var read = (Problem.InvalidApplication) again;
        String words = "422 invalid_application 1 rule is broken: see errors. (req_1)\n  /a~1b must be a number";
        same(words, read.getMessage());
        same("a/b", read.errors().get(0).field());
        same(Optional.of(Duration.ofSeconds(1)), read.retryAfter());
    }

    void whateverAProxyAnswersIsAProblem() {
        Map<String, ?> nothing = Map.of();
        for (Map<String, ?> said :
                List.of(Map.of("code", 5), Map.of("errors", "none"), Map.of("request_id", 1), nothing)) {
            Problem problem = Problem.of(new Problem.Told(502, said, "req_1", null));
            same(Problem.class, problem.getClass());
            same(Optional.empty(), problem.code());
            same(Optional.of("req_1"), problem.requestId());
            same(List.of(), problem.errors());
        }
    }

    void theFakeFailsByWhatCanHappenAlone() {
        throwsError(InvalidArgument.class, () -> fake.fail(InvalidSignature.class));
        throwsError(InvalidArgument.class, () -> fake.fail(Problem.class));
    }

    // -------------------------------------------------------------------------------------------- webhooks

    void aWebhookIsVerifiedOverItsBytes() {
        Map<String, ?> names = Map.of("name", "score", "psi", 0.3, "limit", 0.2);
        FakeAlama.Webhook came = fake.webhook("model.drift_detected", Map.of(
                "model", "m", "card", "full", "names", List.of(names),
                "first_day", "2026-11-01", "last_day", "2026-11-14", "scores", 900));
        Map<String, String> shouted = came.headers().entrySet().stream()
                .collect(Collectors.toMap(each -> each.getKey().toUpperCase(Locale.ROOT), Map.Entry::getValue));
        var event = (ModelDriftDetectedEvent) Webhooks.verify(came.body(), shouted, FakeAlama.SECRET);
        same(0.3, event.names().get(0).psi());
        same(LocalDate.of(2026, 11, 14), event.lastDay());
        byte[] other = (new String(came.body(), StandardCharsets.UTF_8) + " ").getBytes(StandardCharsets.UTF_8);
        throwsError(InvalidSignature.class, () -> Webhooks.verify(other, came.headers(), FakeAlama.SECRET));
    }

    void aWebhookIsGoodForFiveMinutes() {
        FakeAlama.Webhook came = fake.webhook("webhook.test", Map.of("endpoint_id", "we_1", "message", "m"));
        Function<String, String> header = came.headers()::get;
        Instant sent = Instant.ofEpochSecond(Long.parseLong(header.apply("webhook-timestamp")));
        for (long age : new long[] {-300, 0, 300}) {
            Event event = Webhooks.verify(came.body(), header, sent.plusSeconds(age), FakeAlama.SECRET);
            same("m", ((WebhookTestEvent) event).message());
        }
        for (long age : new long[] {-301, 301}) {
            throwsError(
                    InvalidSignature.class,
                    () -> Webhooks.verify(came.body(), header, sent.plusSeconds(age), FakeAlama.SECRET));
        }
    }

    void aMalformedHeaderIsNoDefectOfTheReceiver() {
        FakeAlama.Webhook came = fake.webhook("webhook.test", Map.of("endpoint_id", "we_1", "message", "m"));
        Map<String, List<String>> wrong = Map.of(
                "webhook-timestamp", List.of("", "soon", "9223372036854775807", "-9223372036854775808", "1e3"),
                "webhook-signature", List.of("", "v1", "v1,", "v1,###", ",", "v2,AAAA"));
        wrong.forEach((name, texts) -> texts.forEach(text -> {
            Map<String, String> headers = new TreeMap<>(came.headers());
            headers.put(name, text);
            throwsError(InvalidSignature.class, () -> Webhooks.verify(came.body(), headers, FakeAlama.SECRET));
        }));
    }

    void whatIsSignedAndNoEventIsRefused() {
        for (String text : List.of("", "[]", "{", "{\"type\": \"score.created\", \"data\": {}}", "{\"data\": {}}")) {
            byte[] body = text.getBytes(StandardCharsets.UTF_8);
            Map<String, String> headers = Webhooks.sign(body, "evt_1", FakeAlama.SECRET);
            var error = throwsError(InvalidSignature.class, () -> Webhooks.verify(body, headers, FakeAlama.SECRET));
            isTrue(error.getMessage().contains("no event all the same"));
        }
    }

    void aSecretThatIsNoneIsAMistakeOfOurs() {
        FakeAlama.Webhook came = fake.webhook("webhook.test", Map.of("endpoint_id", "we_1", "message", "m"));
        for (String secret : Arrays.asList(null, "", "whsec_", "whsec_###")) {
            throwsError(InvalidArgument.class, () -> Webhooks.verify(came.body(), came.headers(), secret));
        }
        throwsError(InvalidArgument.class, () -> Webhooks.verify(came.body(), came.headers()));
    }

    // -------------------------------------------------------------------------------------------- JSON

    void numbersAreReadExactly() {
        same(9_007_199_254_740_993L, json("9007199254740993"));
        same(Long.MIN_VALUE, json("-9223372036854775808"));
        same(new BigInteger("9223372036854775808"), json("9223372036854775808"));
        same(new BigDecimal("0.1000"), json("0.1000"));
        same(new BigDecimal("1E+2"), json("1e2"));
        same(0L, json("-0"));
    }

    void whatIsNoJsonIsRefused() {
        List<String> wrong = List.of(
                "", " ", "01", "1.", ".5", "+1", "-", "1e", "0x1", "NaN", "Infinity", "tru", "nulll", "'a'", "\"a",
                "\"\\x\"", "\"\\u12g4\"", "\"\\u00\"", "\"\n\"", "[1,]", "[1 2]", "[", "]", "{", "{\"a\"}", "{\"a\":}",
                "{\"a\":1,}", "{a:1}", "{1:1}", "[1]]", "1 1", "/**/1", "\u00a01", "\ufeff1", "1\0", "1e99999999999",
                "9".repeat(1_001), "[".repeat(100_000), "{\"a\":".repeat(100_000), "\"\\u٠٠٠٠\"", "٣");
        for (String text : wrong) {
            throwsError(IllegalArgumentException.class, () -> json(text));
        }
        throwsError(IllegalArgumentException.class, () -> Json.read(new byte[] {'"', (byte) 0xff, '"'}));
    }

    void whatIsWrittenIsReadBack() {
        List<Object> values = Arrays.asList(
                "",
                "\"\\/\b\f\n\r\t\u0000\u007f é \uD83D\uDE00 \uD800 \u2028",
                true, null, 1L, -1L, new BigDecimal("1.50"),
                Map.of(), List.of(), Map.of("a b", List.of(Map.of("", 2L))));
        same(values, Json.read(Json.write(values)));
        byte[] numbers = Json.write(List.of((byte) 1, 2.5f, 0.1, 1e10));
        same("[1,2.5,0.1,1.0E+10]", new String(numbers, StandardCharsets.US_ASCII));
        throwsError(InvalidArgument.class, () -> Json.write(List.of(new Object())));
    }

    private static Object json(String text) {
        return Json.read(text.getBytes(StandardCharsets.UTF_8));
    }

    // -------------------------------------------------------------------------------------------- what has to be

    private static void same(Object expected, Object given) {
        if (!Objects.equals(expected, given)) {
            throw new AssertionError(expected + " is expected, " + given + " was given");
        }
    }

    private static void near(double expected, double given) {
        if (!(Math.abs(expected - given) < 1e-9)) {
            throw new AssertionError(expected + " is expected, " + given + " was given");
        }
    }

    private static void isTrue(boolean given) {
        if (!given) {
            throw new AssertionError("it is not so");
        }
    }

    private static <E extends Throwable> E throwsError(Class<E> expected, Callable<?> call) {
        Object given;
        try {
            given = call.call();
        } catch (Throwable error) {
            boolean alike = expected == IllegalArgumentException.class && expected.isInstance(error);
            if (alike || error.getClass() == expected) {
                return expected.cast(error);
            }
            throw new AssertionError(expected + " is expected, " + error + " came", error);
        }
        throw new AssertionError(expected + " is expected, " + given + " was given");
    }
}
