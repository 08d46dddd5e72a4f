// Calls the service by the client that orval has made; its zod schemas judge what comes back.
import * as calls from "./client/calls";
import * as schemas from "./client/schemas";

async function main(key: string, retried: string): Promise<object> {
  const options = { headers: { Authorization: `Bearer ${key}` } };
  const compact = {
    mobile_money_months: 24,
    monthly_inflow: 18500,
    stability_score: 0.62,
    airtime_regularity: 0.71,
  };
  const declined = {
    mm_months: 9,
    avg_inflow: 14200,
    balance_stability: 0.34,
    airtime_regularity: 0.45,
    requested_amount: 9000,
    requested_term_days: 30,
  };

  const health = schemas.GetHealthResponse.parse((await calls.getHealth()).data);
  const once = { headers: { ...options.headers, "Idempotency-Key": retried } };
  const expand = { expand: ["base_score" as const, "offer" as const] };
  const score = schemas.CreateScoreResponse.parse((await calls.createScore(compact, expand, once)).data);
  const again = schemas.CreateScoreResponse.parse((await calls.createScore(compact, expand, once)).data);
  const asked = { target: "B", locked: ["requested_amount" as const, "requested_term_days" as const] };
  const explained = schemas.ExplainApplicationResponse.parse(
    (await calls.explainApplication(declined, asked, options)).data,
  );
  const page = schemas.ListScoresResponse.parse((await calls.listScores({ limit: 1 }, options)).data);
  const id = score.request_id;
  const stored = schemas.GetScoreResponse.parse((await calls.getScore(id, options)).data);
  const receipt = schemas.GetReceiptResponse.parse((await calls.getReceipt(id, options)).data);
  const today = new Date().toISOString().slice(0, 10);
  const outcomes = schemas.RecordOutcomesResponse.parse(
    (await calls.recordOutcomes({ request_id: id, outcome: "repaid", date: today }, options)).data,
  );
  const report = schemas.GetMonitoringResponse.parse((await calls.getMonitoring({ days: 30 }, options)).data);
  const added = await calls.createWebhookEndpoint(
    { url: "https://loans.example.com/hook", kinds: ["score.created"] },
    options,
  );
  if (added.status !== 201) throw new Error(JSON.stringify(added));
  const endpoint = added.data;
  const test = await calls.sendTestEvent(endpoint.id, options);
  if (test.status !== 202) throw new Error(JSON.stringify(test));
  const found = await calls.getEvent(test.data.event, options);
  if (found.status !== 200) throw new Error(JSON.stringify(found));
  const event = found.data;
  await calls.deleteWebhookEndpoint(endpoint.id, options);
  const refused = await calls.createScore({ airtime_regularity: 0.5 }, undefined, options);
  return {
    health: health.status,
    score: score.score,
    base_score: score.base_score,
    offered: score.offer !== undefined,
    replayed: again.request_id === score.request_id,
    recourse: explained.recourse,
    listed: page.data.length,
    stored_at: stored.created_at,
    created_us: receipt.score.created_us,
    outcome: outcomes.results[0].result,
    monitored: report.volume.scores,
    enabled: endpoint.enabled,
    disabled_at: endpoint.disabled_at,
    event: event.payload.type,
    told: (event.payload as calls.WebhookTestEvent).data.message,
    refused: refused.status === 422 ? refused.data.code : refused.status,
  };
}

const [, key, retried] = process.argv.slice(2);
main(key, retried).then((found) => console.log(JSON.stringify(found)));
