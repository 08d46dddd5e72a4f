/**
 * Client of Alama, the self-hosted credit scoring service: {@link dev.alama.client.Alama}.
 *
 * <p>{@link dev.alama.client.Webhooks} is for receivers of events, and {@link dev.alama.client.FakeAlama} for your
 * tests.
 */
package dev.alama.client;
