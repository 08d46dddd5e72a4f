package dev.alama.client;

import java.lang.reflect.Method;
import java.lang.reflect.RecordComponent;
import java.nio.charset.StandardCharsets;
import java.time.LocalDate;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Collectors;

/** Prints what the SDK knows of the API, as JSON: tests/sdk/test_java.py compares it with the service's document. */
final class Shapes {
    private static final List<Class<? extends Record>> ANSWERS = List.of(
            ShapValue.class, Reason.class, Offer.PriceParts.class, Offer.Aprs.class, Offer.class,
            Schedule.Payment.class, Schedule.class, Score.class, Review.class,
            Outcome.class, StoredScore.class, ListedScore.class, OutcomeResult.class, LoanResult.class, ExplainedValue.class,
            Change.class,
            Counterfactual.class, Obstacle.class, Explanation.class, Health.class, OwnKey.class,
            WebhookEndpoint.Pending.class,
            WebhookEndpoint.class, NewWebhookEndpoint.class, TestSent.class, Event.Drift.class);

    public static void main(String[] arguments) {
        Map<String, Object> answers = new LinkedHashMap<>();
        ANSWERS.forEach(each -> answers.put(each.getSimpleName(), members(each)));
        Map<String, Object> codes = new LinkedHashMap<>();
        Problem.KINDS.forEach(each -> codes.put(each.code(), List.of(each.status(), each.type().getSimpleName())));
        List<String> problems = Arrays.stream(Problem.class.getDeclaredClasses())
                .filter(Problem.class::isAssignableFrom)
                .map(Class::getSimpleName)
                .toList();
        Map<String, Object> shapes = Map.of(
                "version", Alama.VERSION,
                "answers", answers,
                "codes", codes,
                "problems", problems,
                "application", fields(),
                "fake", fake());
        System.out.println(new String(Json.write(shapes), StandardCharsets.US_ASCII));
    }

    /** The members of an answer, and whether it cannot be without. */
    private static Map<String, Boolean> members(Class<? extends Record> kind) {
        return Arrays.stream(kind.getRecordComponents())
                .filter(each -> !each.getName().equals("raw"))
                .collect(Collectors.toMap(Shapes::name, each -> each.getType() != Optional.class));
    }

    private static String name(RecordComponent component) {
        return Reader.wireName(component.getName());
    }

    /** Which members the answers of the fake have, by the names of their schemas. */
    private static List<Object> fake() {
        Alama alama = new FakeAlama().client();
        Application application = Application.builder().mobileMoneyMonths(24).build();
        Score score = alama.score(application);
        String id = score.requestId();
        ScoreOptions more = new ScoreOptions().expand(Expand.OFFER, Expand.REASONS, Expand.SCHEDULE);
        return List.of(
                shown("ScoreReply", score),
                shown("ScoreReply", alama.score(application, more)),
                shown("ScoreRecord", alama.getScore(id)),
                shown("ScoreListed", alama.listScores().iterator().next()),
                shown("ExplainReply", alama.explain(application)),
                shown("ScoreReview", alama.review(id, ReviewDecision.APPROVED, ReviewReason.OTHER, "W. Mutua")),
                shown("OutcomeResult", alama.recordOutcome(id, OutcomeKind.REPAID, LocalDate.of(2026, 11, 16))),
                shown("LoanResult", alama.recordLoans(List.of(aLoan())).get(0)),
                shown("WebhookEndpointCreated", alama.makeEndpoint("https://loans.example.com/hook")),
                shown("WebhookEndpoint", alama.listEndpoints().get(0)),
                shown("TestSent", alama.testEndpoint(alama.listEndpoints().get(0).id())),
                shown("Health", alama.health()),
                shown("OwnKey", alama.key()));
    }

    private static NewLoanEvent aLoan() {
        LocalDate day = LocalDate.of(2026, 11, 16);
        return NewLoanEvent.disbursed("cust-1", "L-1", day, 900).due(day.plusDays(60), 1_000, 2);
    }

    private static List<Object> shown(String schema, Answer answer) {
        return List.of(schema, answer.raw().keySet());
    }

    /** The fields that the methods of the builder give. */
    private static List<String> fields() {
        List<String> fields = new ArrayList<>();
        for (Method method : Application.Builder.class.getDeclaredMethods()) {
            if (method.getParameterCount() == 1) {
                fields.add(Reader.wireName(method.getName()));
            }
        }
        return fields;
    }
}
