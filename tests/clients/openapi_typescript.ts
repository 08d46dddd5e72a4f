// Calls the service by openapi-fetch, with the types that openapi-typescript has made.
import createClient from "openapi-fetch";
import type { components, paths } from "./client/schema";

async function main(url: string, key: string, retried: string): Promise<object> {
  const { GET, POST, DELETE } = createClient<paths>({
    baseUrl: url,
    headers: { Authorization: `Bearer ${key}` },
  });
  const asked = {
    params: {
      query: { expand: ["base_score" as const, "offer" as const] },
      header: { "Idempotency-Key": retried },
    },
    body: {
      mobile_money_months: 24,
      monthly_inflow: 18500,
      stability_score: 0.62,
      airtime_regularity: 0.71,
    },
  };

  const health = told(await GET("/v1/health"));
  const score = told(await POST("/v1/score", asked));
  const again = told(await POST("/v1/score", asked));
  const explained = told(
    await POST("/v1/explain", {
      params: { query: { target: "B", locked: ["requested_amount", "requested_term_days"] } },
      body: {
        mm_months: 9,
        avg_inflow: 14200,
        balance_stability: 0.34,
        airtime_regularity: 0.45,
        requested_amount: 9000,
        requested_term_days: 30,
      },
    }),
  );
  const page = told(await GET("/v1/scores", { params: { query: { limit: 1 } } }));
  const params = { path: { request_id: score.request_id } };
  const stored = told(await GET("/v1/scores/{request_id}", { params }));
  const receipt = told(await GET("/v1/scores/{request_id}/receipt", { params }));
  const today = new Date().toISOString().slice(0, 10);
  const outcomes = told(
    await POST("/v1/outcomes", {
      body: { request_id: score.request_id, outcome: "repaid", date: today },
    }),
  );
  const report = told(await GET("/v1/monitoring", { params: { query: { days: 30 } } }));
  if (typeof report === "string") throw new Error("a page where JSON was asked for");
  const endpoint = told(
    await POST("/v1/webhook_endpoints", {
      body: { url: "https://loans.example.com/hook", kinds: ["score.created"] },
    }),
  );
  const named = { params: { path: { endpoint_id: endpoint.id } } };
  const test = told(await POST("/v1/webhook_endpoints/{endpoint_id}/test", named));
  const event = told(
    await GET("/v1/events/{event_id}", { params: { path: { event_id: test.event } } }),
  );
  const { response } = await DELETE("/v1/webhook_endpoints/{endpoint_id}", named);
  if (response.status !== 204) throw new Error(String(response.status));
  const { error } = await POST("/v1/score", { body: { airtime_regularity: 0.5 } });
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
    told: (event.payload as components["schemas"]["WebhookTestEvent"]).data.message,
    refused: error?.code,
  };
}

function told<T>(answer: { data?: T; error?: unknown }): T {
  if (answer.data === undefined) throw new Error(JSON.stringify(answer.error));
  return answer.data;
}

const [url, key, retried] = process.argv.slice(2);
main(url, key, retried).then((found) => console.log(JSON.stringify(found)));
