// Calls the service by the client that openapi-generator's java has made.
import com.fasterxml.jackson.databind.ObjectMapper;
import java.time.LocalDate;
import java.time.ZoneOffset;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.openapitools.client.ApiClient;
import org.openapitools.client.ApiException;
import org.openapitools.client.api.MonitoringApi;
import org.openapitools.client.api.OutcomesApi;
import org.openapitools.client.api.ScoresApi;
import org.openapitools.client.api.StatusApi;
import org.openapitools.client.api.WebhooksApi;
import org.openapitools.client.model.Application;
import org.openapitools.client.model.Event;
import org.openapitools.client.model.ExplainReply;
import org.openapitools.client.model.Health;
import org.openapitools.client.model.MonitoringReport;
import org.openapitools.client.model.NewOutcome;
import org.openapitools.client.model.NewWebhookEndpoint;
import org.openapitools.client.model.OutcomeResults;
import org.openapitools.client.model.Receipt;
import org.openapitools.client.model.RecordOutcomesRequest;
import org.openapitools.client.model.ScorePage;
import org.openapitools.client.model.ScoreRecord;
import org.openapitools.client.model.ScoreReply;
import org.openapitools.client.model.TestSent;
import org.openapitools.client.model.WebhookEndpointCreated;
import org.openapitools.client.model.WebhookTestEvent;

public class Calls {
    public static void main(String[] arguments) throws Exception {
        String key = arguments[1], retried = arguments[2];
        ApiClient client = new ApiClient();
        client.updateBaseUri(arguments[0]);
        client.setRequestInterceptor(request -> request.header("Authorization", "Bearer " + key));
        ScoresApi scores = new ScoresApi(client);
        WebhooksApi webhooks = new WebhooksApi(client);
        Application compact = new Application().mobileMoneyMonths(24).monthlyInflow(18500.0)
            .stabilityScore(0.62).airtimeRegularity(0.71);
        Application declined = new Application().mmMonths(9).avgInflow(14200.0)
            .balanceStability(0.34).airtimeRegularity(0.45).requestedAmount(9000.0)
            .requestedTermDays(30);
        List<String> expand = List.of("base_score", "offer");

        Health health = new StatusApi(client).getHealth();
        ScoreReply score = scores.createScore(compact, expand, null, retried);
        ScoreReply again = scores.createScore(compact, expand, null, retried);
        List<String> locked = List.of("requested_amount", "requested_term_days");
        ExplainReply explained = scores.explainApplication(declined, "B", null, locked, null);
        ScorePage page = scores.listScores(null, 1, null);
        ScoreRecord stored = scores.getScore(score.getRequestId());
        Receipt receipt = scores.getReceipt(score.getRequestId());
        NewOutcome outcome = new NewOutcome().requestId(score.getRequestId())
            .outcome(NewOutcome.OutcomeEnum.REPAID).date(LocalDate.now(ZoneOffset.UTC));
        OutcomeResults outcomes =
            new OutcomesApi(client).recordOutcomes(new RecordOutcomesRequest(outcome));
        MonitoringReport report = new MonitoringApi(client).getMonitoring(30, null);
        WebhookEndpointCreated endpoint = webhooks.createWebhookEndpoint(new NewWebhookEndpoint()
            .url("https://loans.example.com/hook")
            .addKindsItem(NewWebhookEndpoint.KindsEnum.SCORE_CREATED));
        TestSent test = webhooks.sendTestEvent(endpoint.getId());
        Event event = webhooks.getEvent(test.getEvent());
        webhooks.deleteWebhookEndpoint(endpoint.getId());
        String refused = "nothing";
        try {
            scores.createScore(new Application().airtimeRegularity(0.5), null, null, null);
        } catch (ApiException error) {
            refused = new ObjectMapper().readTree(error.getResponseBody()).get("code").asText();
        }

        Map<String, Object> found = new LinkedHashMap<>();
        found.put("health", health.getStatus());
        found.put("score", score.getScore());
        found.put("base_score", score.getBaseScore());
        found.put("offered", score.getOffer() != null);
        found.put("replayed", again.getRequestId().equals(score.getRequestId()));
        found.put("recourse", explained.getRecourse());
        found.put("listed", page.getData().size());
        found.put("stored_at", stored.getCreatedAt().toInstant().toString());
        found.put("created_us", receipt.getScore().getCreatedUs());
        found.put("outcome", outcomes.getResults().get(0).getResult());
        found.put("monitored", report.getVolume().getScores());
        found.put("enabled", endpoint.getEnabled());
        found.put("disabled_at", endpoint.getDisabledAt());
        found.put("event", event.getPayload().getType());
        found.put("told", ((WebhookTestEvent) event.getPayload()).getData().getMessage());
        found.put("refused", refused);
        System.out.println(new ObjectMapper().writeValueAsString(found));
    }
}
