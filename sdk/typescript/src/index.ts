/**
 * Client of Alama, the self-hosted credit scoring service.
 *
 * `Alama` is the client, `verifyWebhook` is for receivers of events, and `@alama/client/testing`
 * has a fake for your tests.
 */

export type * from "./answers.js";
export * from "./client.js";
export * from "./errors.js";
export * from "./problems.js";
export type { Clock } from "./retries.js";
export type * from "./webhooks.js";
export { verifyWebhook } from "./webhooks.js";
