import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import dev.alama.client.*;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.math.BigDecimal;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.time.LocalDate;
import java.time.ZoneOffset;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.Executors;

/**
 * A small lender, whole: see README.md beside this file.
 *
 * <p>Every step is kept in {@code lender.tsv} before the next begins, and everything that is sent can be sent again.
 * So the program may be killed anywhere and started again: nothing is scored twice, nothing is lost.
 */
public final class Lender {
    private static final Path FILES = Path.of(setting("FILES", ".."));
    private static final int PORT = Integer.parseInt(setting("PORT", "9002"));
    private static final String HOOK_URL = setting("HOOK_URL", "http://127.0.0.1:" + PORT + "/alama");
    private static final long EVENTS_S_MAX = Long.parseLong(setting("EVENTS_S_MAX", "30"));
    private static final int BODY_BYTES_MAX = 65_536;

    private final Alama alama = new Alama(setting("ALAMA_URL", "http://127.0.0.1:8000"), System.getenv("ALAMA_KEY"));
    private final Store store = new Store(Path.of(setting("STORE", "lender.tsv")));

    private static String setting(String name, String usual) {
        return Optional.ofNullable(System.getenv(name)).orElse(usual);
    }

    public static void main(String[] arguments) throws Exception {
        Lender lender = new Lender();
        lender.receive(lender.register());
        lender.scoreApplicants();
        lender.reportOutcomes();
        lender.waitForEvents();
        lender.readBack();
        System.exit(0); // the receiver would go on
    }

    private Lender() throws IOException {}

    /**
     * What the lender keeps, a line for each fact; yours is a database. A line that a kill has cut off was never
     * promised, and goes.
     */
    private static final class Store {
        private final List<List<String>> facts = new ArrayList<>();
        private final RandomAccessFile file;

        Store(Path path) throws IOException {
            file = new RandomAccessFile(path.toFile(), "rwd"); // a write returns when it is on the disk
            path.toFile().setReadable(false, false); // it has the secret: for its owner only
            path.toFile().setReadable(true, true);
            path.toFile().setWritable(false, false);
            path.toFile().setWritable(true, true);
            String text = Files.readString(path);
            String whole = text.substring(0, text.lastIndexOf('\n') + 1);
            whole.lines().forEach(line -> facts.add(List.of(line.split("\t"))));
            file.setLength(whole.getBytes(StandardCharsets.UTF_8).length);
            file.seek(file.length());
        }

        synchronized void keep(String... fact) throws IOException {
            file.write((String.join("\t", fact) + "\n").getBytes(StandardCharsets.UTF_8));
            facts.add(List.of(fact));
        }

        /** All of a kind: {@code kind, id, more...}. */
        synchronized List<List<String>> all(String kind) {
            return facts.stream().filter(fact -> fact.get(0).equals(kind)).toList();
        }

        Optional<List<String>> find(String kind, String id) {
            return all(kind).stream().filter(fact -> fact.get(1).equals(id)).findFirst();
        }
    }

    private static List<String[]> rows(String name) throws IOException {
        return Files.readAllLines(FILES.resolve(name)).stream().skip(1).map(line -> line.split(",")).toList();
    }

    /**
     * Step 1: have decisions told to us, and give the secret that they are signed with.
     *
     * <p>A secret is shown once. If we were killed before it was kept, nobody has it: that endpoint is deleted, and
     * another one made.
     */
    private String register() throws IOException {
        Optional<List<String>> known = store.all("endpoint").stream().findFirst();
        if (known.isPresent()) {
            return known.get().get(2);
        }
        for (WebhookEndpoint endpoint : alama.listEndpoints()) {
            if (endpoint.url().equals(HOOK_URL)) {
                alama.deleteEndpoint(endpoint.id());
            }
        }
        var made = alama.makeEndpoint(HOOK_URL, List.of("score.created"), "recipe: java");
        store.keep("endpoint", made.id(), made.secret());
        System.out.println("endpoint " + made.id());
        return made.secret();
    }

    private void receive(String secret) throws IOException {
        System.setProperty("sun.net.httpserver.maxReqTime", "10"); // seconds, for who sends half of a webhook
        HttpServer server = HttpServer.create(new InetSocketAddress("127.0.0.1", PORT), 0);
        server.createContext("/", request -> {
            request.sendResponseHeaders(statusOf(request, secret), -1);
            request.close();
        });
        server.setExecutor(Executors.newCachedThreadPool()); // nobody waits for that one
        server.start();
    }

    /** Take a webhook: verify, keep, answer, in this order. It may come twice. */
    private int statusOf(HttpExchange request, String secret) throws IOException {
        byte[] body = request.getRequestBody().readNBytes(BODY_BYTES_MAX);
        Event event;
        try {
            event = Webhooks.verify(body, request.getRequestHeaders()::getFirst, secret);
        } catch (InvalidSignature error) {
            return 400;
        }
        synchronized (store) { // it may come twice at once
            if (event instanceof Event.ScoreCreatedEvent told && store.find("event", told.requestId()).isEmpty()) {
                store.keep("event", told.requestId(), told.decision()); // others, also later ones, are no error
                System.out.println("event " + told.requestId() + " " + told.decision());
            }
        }
        return 204;
    }

    /** Step 2: decide on everybody of {@code applicants.csv} who has no decision yet. */
    private void scoreApplicants() throws IOException {
        for (String[] row : rows("applicants.csv")) {
            String loanId = row[0];
            if (store.find("decision", loanId).isPresent()) {
                continue;
            }
            Application application = Application.builder()
                    .applicantRef(row[1])
                    .mobileMoneyMonths(Integer.parseInt(row[2]))
                    .monthlyInflow(new BigDecimal(row[3]))
                    .stabilityScore(new BigDecimal(row[4]))
                    .airtimeRegularity(new BigDecimal(row[5]))
                    .build();
            try { // Killed before it is kept? The same key gets the same score, for 72 hours.
                Score score = alama.score(application, new ScoreOptions().idempotencyKey("java-" + loanId));
                store.keep("decision", loanId, score.requestId(), score.decision(), "" + score.score());
                System.out.println("scored " + loanId + " " + score.decision());
            } catch (Problem.InvalidApplication error) { // for a person to mend; the others go on
                error.errors().forEach(broken ->
                        System.out.println("refused " + loanId + " " + broken.field() + ": " + broken.detail()));
            }
        }
    }

    /** Step 3: say what became of the loans of {@code repayments.csv}. */
    private void reportOutcomes() throws IOException {
        String today = LocalDate.now(ZoneOffset.UTC).toString();
        for (String[] row : rows("repayments.csv")) { // kept first, with its day: sent again, it says the same
            if (store.find("outcome", row[0]).isEmpty()) {
                store.keep("outcome", row[0], row[1], today, row[2]);
            }
        }
        for (List<String> outcome : store.all("outcome")) {
            String loanId = outcome.get(1);
            Optional<List<String>> decision = store.find("decision", loanId);
            if (decision.isEmpty() || store.find("sent", loanId).isPresent()) {
                continue;
            }
            OutcomeKind kind = new OutcomeKind(outcome.get(2));
            LocalDate day = LocalDate.parse(outcome.get(3));
            String result = alama.recordOutcome(new NewOutcome(decision.get().get(2), kind, day)
                            .repaidAmount(new BigDecimal(outcome.get(4))))
                    .result();
            if (!Set.of("recorded", "updated", "unchanged").contains(result)) {
                throw new IllegalStateException(loanId + ": the outcome was not taken: " + result);
            }
            store.keep("sent", loanId);
            System.out.println("outcome " + loanId + " " + kind.word());
        }
    }

    /** Step 4: every decision is told by a webhook, mostly within a second. */
    private void waitForEvents() throws InterruptedException {
        Instant deadline = Instant.now().plusSeconds(EVENTS_S_MAX);
        while (Instant.now().isBefore(deadline)
                && store.all("decision").stream().anyMatch(decision -> store.find("event", decision.get(2)).isEmpty())) {
            Thread.sleep(100);
        }
    }

    /** Step 5: what was answered, what was told and what is stored agree. */
    private void readBack() {
        for (List<String> kept : store.all("decision")) {
            String decision = kept.get(3);
            StoredScore stored = alama.getScore(kept.get(2));
            Optional<String> told = store.find("event", kept.get(2)).map(event -> event.get(2));
            if (!stored.decision().equals(decision) || !told.orElse(decision).equals(decision)) {
                throw new IllegalStateException(kept.get(1) + ": what was answered, told and stored do not agree");
            }
            String by = told.isPresent() ? "webhook" : "asked"; // a late event comes, for three days
            String ended = stored.outcome().map(outcome -> outcome.outcome()).orElse("-");
            System.out.println(String.join(" ", "loan", kept.get(1), decision, kept.get(4), by, ended));
        }
    }
}
