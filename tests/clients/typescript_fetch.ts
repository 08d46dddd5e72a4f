// Calls the service by the client that openapi-generator's typescript-fetch has made.
import {
  Configuration,
  MonitoringApi,
  OutcomesApi,
  ResponseError,
  ScoresApi,
  StatusApi,
  WebhooksApi,
  type WebhookTestEvent,
} from "./client";

async function main(url: string, key: string, retried: string): Promise<object> {
  const configuration = new Configuration({ basePath: url, accessToken: key });
  const scores = new ScoresApi(configuration);
  const webhooks = new WebhooksApi(configuration);
  const application = {
    mobileMoneyMonths: 24,
    monthlyInflow: 18500,
    stabilityScore: 0.62,
    airtimeRegularity: 0.71,
  };
  const declined = {
    mmMonths: 9,
    avgInflow: 14200,
    balanceStability: 0.34,
    airtimeRegularity: 0.45,
    requestedAmount: 9000,
    requestedTermDays: 30,
  };

  const health = await new StatusApi(configuration).getHealth();
  const score = await scores.createScore({
    application,
    expand: ["base_score", "offer"],
    idempotencyKey: retried,
  });
  const again = await scores.createScore({
    application,
    expand: ["base_score", "offer"],
    idempotencyKey: retried,
  });
  const explained = await scores.explainApplication({
    application: declined,
    target: "B",
    locked: ["requested_amount", "requested_term_days"],
  });
  const page = await scores.listScores({ limit: 1 });
  const stored = await scores.getScore({ requestId: score.requestId });
  const receipt = await scores.getReceipt({ requestId: score.requestId });
  const outcomes = await new OutcomesApi(configuration).recordOutcomes({
    recordOutcomesRequest: { requestId: score.requestId, outcome: "repaid", date: new Date() },
  });
  const report = await new MonitoringApi(configuration).getMonitoring({ days: 30 });
  const endpoint = await webhooks.createWebhookEndpoint({
    newWebhookEndpoint: { url: "https://loans.example.com/hook", kinds: ["score.created"] },
  });
  const test = await webhooks.sendTestEvent({ endpointId: endpoint.id });
  const event = await webhooks.getEvent({ eventId: test.event });
  await webhooks.deleteWebhookEndpoint({ endpointId: endpoint.id });
  let refused = "";
  try {
    await scores.createScore({ application: { airtimeRegularity: 0.5 } });
  } catch (error) {
    refused = error instanceof ResponseError ? (await error.response.json()).code : String(error);
  }
  return {
    health: health.status,
    score: score.score,
    base_score: score.baseScore,
    offered: score.offer !== undefined,
    replayed: again.requestId === score.requestId,
    recourse: explained.recourse,
    listed: page.data.length,
    stored_at: stored.createdAt.toISOString(),
    created_us: receipt.score.createdUs,
    outcome: outcomes.results[0].result,
    monitored: report.volume.scores,
    enabled: endpoint.enabled,
    disabled_at: endpoint.disabledAt,
    event: event.payload.type,
    told: (event.payload as WebhookTestEvent).data.message,
    refused,
  };
}

const [url, key, retried] = process.argv.slice(2);
main(url, key, retried).then((found) => console.log(JSON.stringify(found)));
