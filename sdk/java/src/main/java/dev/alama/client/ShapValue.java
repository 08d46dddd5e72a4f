package dev.alama.client;

import java.util.Map;

/** What a field is worth, in points; positive raises the score. */
public record ShapValue(String feature, double contribution, Map<String, Object> raw) implements Answer {}
