// Calls the service by the client that hey-api has made; zod judges what is sent and what comes back.
import { createClient } from "./client/client";
import {
  createScore,
  createWebhookEndpoint,
  deleteWebhookEndpoint,
  explainApplication,
  getEvent,
  getHealth,
  getMonitoring,
  getReceipt,
  getScore,
  listScores,
  recordOutcomes,
  sendTestEvent,
} from "./client/sdk.gen";
import { zReceipt, zWebhookTestEvent } from "./client/zod.gen";

async function main(url: string, key: string, retried: string): Promise<object> {
  const client = createClient({ baseUrl: url, auth: key, throwOnError: true });
  const every = { client, throwOnError: true } as const;
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

  const { data: health } = await getHealth(every);
  const asked = {
    ...every,
    body: compact,
    query: { expand: ["base_score" as const, "offer" as const] },
    headers: { "Idempotency-Key": retried },
  };
  const { data: score } = await createScore(asked);
  const { data: again } = await createScore(asked);
  const { data: explained } = await explainApplication({
    ...every,
    body: declined,
    query: { target: "B", locked: ["requested_amount", "requested_term_days"] },
  });
  const { data: page } = await listScores({ ...every, query: { limit: 1 } });
  const path = { request_id: score.request_id };
  const { data: stored } = await getScore({ ...every, path });
  const { data: receipt } = await getReceipt({ ...every, path });
  const today = new Date().toISOString().slice(0, 10);
  const { data: outcomes } = await recordOutcomes({
    ...every,
    body: { request_id: score.request_id, outcome: "repaid", date: today },
  });
  const { data: report } = await getMonitoring({ ...every, query: { days: 30 } });
  if (typeof report === "string") throw new Error("a page where JSON was asked for");
  const { data: endpoint } = await createWebhookEndpoint({
    ...every,
    body: { url: "https://loans.example.com/hook", kinds: ["score.created"] },
  });
  const { data: test } = await sendTestEvent({ ...every, path: { endpoint_id: endpoint.id } });
  const { data: event } = await getEvent({ ...every, path: { event_id: test.event } });
  await deleteWebhookEndpoint({ ...every, path: { endpoint_id: endpoint.id } });
  const { error } = await createScore({
    client,
    throwOnError: false,
    body: { airtime_regularity: 0.5 },
  });
  return {
    health: health.status,
    score: score.score,
    base_score: score.base_score,
    offered: score.offer !== undefined,
    replayed: again.request_id === score.request_id,
    recourse: explained.recourse,
    listed: page.data.length,
    stored_at: stored.created_at,
    created_us: Number(zReceipt.parse(receipt).score.created_us),
    outcome: outcomes.results[0].result,
    monitored: Number(report.volume.scores),
    enabled: endpoint.enabled,
    disabled_at: endpoint.disabled_at,
    event: event.payload.type,
    told: zWebhookTestEvent.parse(event.payload).data.message,
    refused: error && "code" in error ? error.code : String(error),
  };
}

const [url, key, retried] = process.argv.slice(2);
main(url, key, retried).then((found) => console.log(JSON.stringify(found)));
