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

        Health health = new StatusApi(client)
            .getHealth(StatusApi.APIGetHealthRequest.newBuilder().build());
        var once = ScoresApi.APICreateScoreRequest.newBuilder()
            .application(compact).expand(expand).idempotencyKey(retried).build();
        ScoreReply score = scores.createScore(once);
        ScoreReply again = scores.createScore(once);
        ExplainReply explained = scores.explainApplication(
            ScoresApi.APIExplainApplicationRequest.newBuilder().application(declined).target("B")
                .locked(List.of("requested_amount", "requested_term_days")).build());
        ScorePage page =
            scores.listScores(ScoresApi.APIListScoresRequest.newBuilder().limit(1).build());
        String id = score.getRequestId();
        ScoreRecord stored =
            scores.getScore(ScoresApi.APIGetScoreRequest.newBuilder().requestId(id).build());
        Receipt receipt =
            scores.getReceipt(ScoresApi.APIGetReceiptRequest.newBuilder().requestId(id).build());
        NewOutcome outcome = new NewOutcome().requestId(id)
            .outcome(NewOutcome.OutcomeEnum.REPAID).date(LocalDate.now(ZoneOffset.UTC));
        OutcomeResults outcomes = new OutcomesApi(client).recordOutcomes(
            OutcomesApi.APIRecordOutcomesRequest.newBuilder()
                .recordOutcomesRequest(new RecordOutcomesRequest(outcome)).build());
        MonitoringReport report = new MonitoringApi(client).getMonitoring(
            MonitoringApi.APIGetMonitoringRequest.newBuilder().days(30).build());
        NewWebhookEndpoint hook = new NewWebhookEndpoint().url("https://loans.example.com/hook")
            .addKindsItem(NewWebhookEndpoint.KindsEnum.SCORE_CREATED);
        WebhookEndpointCreated endpoint = webhooks.createWebhookEndpoint(
            WebhooksApi.APICreateWebhookEndpointRequest.newBuilder()
                .newWebhookEndpoint(hook).build());
        String hookId = endpoint.getId();
        TestSent test = webhooks.sendTestEvent(
            WebhooksApi.APISendTestEventRequest.newBuilder().endpointId(hookId).build());
        Event event = webhooks.getEvent(
            WebhooksApi.APIGetEventRequest.newBuilder().eventId(test.getEvent()).build());
        webhooks.deleteWebhookEndpoint(
            WebhooksApi.APIDeleteWebhookEndpointRequest.newBuilder().endpointId(hookId).build());
        String refused = "nothing";
        try {
            scores.createScore(ScoresApi.APICreateScoreRequest.newBuilder()
                .application(new Application().airtimeRegularity(0.5)).build());
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
