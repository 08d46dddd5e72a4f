package dev.alama.client;

import java.util.Map;

/** A test event that is on its way; {@code event} is its id, and what {@link Event#id} of the receiver will be. */
public record TestSent(String event, Map<String, Object> raw) implements Answer {}
