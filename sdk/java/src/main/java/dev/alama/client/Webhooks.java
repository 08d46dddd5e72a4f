package dev.alama.client;

import java.nio.charset.StandardCharsets;
import java.security.GeneralSecurityException;
import java.security.MessageDigest;
import java.time.DateTimeException;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Base64;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.Function;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;

/**
 * From bytes that came over the internet to typed events that can be trusted.
 *
 * <pre>{@code
 * Event event = Webhooks.verify(body, request::getHeader, secret);
 * if (event instanceof ScoreCreatedEvent created) { ... }
 * }</pre>
 */
public final class Webhooks {
    private static final Duration TOLERANCE = Duration.ofMinutes(5);

    private static final Map<String, Class<? extends Record>> KINDS = Map.of(
            "score.created", Event.ScoreCreatedEvent.class,
            "score.reviewed", Event.ScoreReviewedEvent.class,
            "outcome.recorded", Event.OutcomeRecordedEvent.class,
            "policy.activated", Event.PolicyActivatedEvent.class,
            "model.activated", Event.ModelActivatedEvent.class,
            "model.drift_detected", Event.ModelDriftDetectedEvent.class,
            "webhook_endpoint.disabled", Event.WebhookEndpointDisabledEvent.class,
            "webhook.test", Event.WebhookTestEvent.class);

    private Webhooks() {}

    /**
     * Give the event of a webhook, or throw {@link InvalidSignature}.
     *
     * @param body what came, byte for byte: a framework that parses and writes it again writes other bytes
     * @param header gives a header by its name, whatever the case, or null: {@code request::getHeader} of a servlet,
     *     {@code headers::getFirst} of Spring
     * @param secrets the secret of the endpoint; while it is replaced, the new and the old
     */
    public static Event verify(byte[] body, Function<String, String> header, String... secrets) {
        return verify(body, header, Instant.now(), secrets);
    }

    /** The same, with headers in a map, whatever the case of their names. */
    public static Event verify(byte[] body, Map<String, String> headers, String... secrets) {
        Map<String, String> named = new TreeMap<>(String.CASE_INSENSITIVE_ORDER);
        named.putAll(headers);
        return verify(body, named::get, secrets);
    }

    static Event verify(byte[] body, Function<String, String> header, Instant now, String... secrets) {
        if (secrets == null || secrets.length == 0) {
            throw new InvalidArgument("a webhook is verified with its secret, and there is none");
        }
        String id = named(header, "webhook-id");
        String sentAt = named(header, "webhook-timestamp");
        String signatures = named(header, "webhook-signature");
        Duration age = age(sentAt, now);
        List<byte[]> given = given(signatures);
        boolean ours = false;
        for (String secret : secrets) {
            byte[] made = signature(body, id, sentAt, secret);
            for (byte[] each : given) {
                ours |= MessageDigest.isEqual(made, each); // each of them, so that the time tells nothing
            }
        }
        if (!ours) {
            throw new InvalidSignature("no signature of this webhook was made with the secret", null);
        }
        if (age.compareTo(TOLERANCE) > 0) {
            throw new InvalidSignature("the webhook is " + age.toSeconds() + " s old, or a clock is wrong", null);
        }
        return event(id, body);
    }

    /** Give the headers that Alama would send with a body, to try a receiver. */
    public static Map<String, String> sign(byte[] body, String eventId, String secret) {
        String at = String.valueOf(Instant.now().getEpochSecond());
        byte[] signature = signature(body, eventId, at, secret);
        return Map.of(
                "content-type", "application/json",
                "webhook-id", eventId,
                "webhook-timestamp", at,
                "webhook-signature", "v1," + Base64.getEncoder().encodeToString(signature));
    }

    private static String named(Function<String, String> header, String name) {
        String text = header.apply(name);
        if (text == null) {
            throw new InvalidSignature("the webhook has no " + name, null);
        }
        return text;
    }

    private static Duration age(String sentAt, Instant now) {
        try {
            return Duration.between(Instant.ofEpochSecond(Long.parseLong(sentAt.strip())), now).abs();
        } catch (ArithmeticException | DateTimeException | NumberFormatException error) {
            throw new InvalidSignature("the webhook-timestamp of the webhook is malformed", null);
        }
    }

    private static List<byte[]> given(String signatures) {
        List<byte[]> given = new ArrayList<>();
        for (String each : signatures.strip().split("\\s+")) {
            if (each.startsWith("v1,")) {
                try {
                    given.add(Base64.getDecoder().decode(each.substring("v1,".length())));
                } catch (IllegalArgumentException error) {
                    // It is no signature, and another one may be.
                }
            }
        }
        return given;
    }

    private static byte[] signature(byte[] body, String id, String sentAt, String secret) {
        try {
            Mac mac = Mac.getInstance("HmacSHA256");
            mac.init(new SecretKeySpec(key(secret), "HmacSHA256"));
            mac.update((id + "." + sentAt + ".").getBytes(StandardCharsets.UTF_8));
            return mac.doFinal(body);
        } catch (GeneralSecurityException error) {
            throw new AssertionError(error); // every Java has it
        }
    }

    private static byte[] key(String secret) {
        InvalidArgument.unlessNull(secret, "the secret of the webhook");
        byte[] key;
        try {
            key = Base64.getDecoder().decode(secret.strip().replaceFirst("^whsec_", ""));
        } catch (IllegalArgumentException error) { // whose words would show some of it
            throw new InvalidArgument("the secret of the webhook is not whsec_ and base64");
        }
        if (key.length == 0) {
            throw new InvalidArgument("the secret of the webhook is empty: anyone could sign");
        }
        return key;
    }

    private static Event event(String id, byte[] body) {
        try {
            Map<String, Object> told = Reader.object(Json.read(body));
            Map<String, Object> members = new LinkedHashMap<>();
            members.put("mode", "");
            members.putAll(Reader.object(told.get("data")));
            members.put("id", id);
            members.put("type", told.get("type"));
            members.put("timestamp", told.get("timestamp"));
            Object type = told.get("type") instanceof String text ? text : "";
            Class<? extends Record> kind = KINDS.getOrDefault(type, Event.OtherEvent.class);
            return (Event) Reader.read(kind, members, told);
        } catch (IllegalArgumentException error) {
            throw new InvalidSignature("it is signed, and no event all the same: " + error.getMessage(), error);
        }
    }
}
