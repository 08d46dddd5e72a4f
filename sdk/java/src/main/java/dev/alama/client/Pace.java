package dev.alama.client;

import java.util.function.DoubleSupplier;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** How fast many requests may go: as many as {@code RateLimit} says are left, then one by one. Times are in seconds. */
final class Pace {
    private static final Pattern LEFT = Pattern.compile(";\\s*r=(\\d{1,9})");
    private static final Pattern POLICY = Pattern.compile(";\\s*q=([1-9]\\d{0,8});\\s*w=([1-9]\\d{0,8})");

    private final DoubleSupplier now;
    private double left;
    private double leftAt;
    private double leftMax;
    private double perSecond; // how many come back; none while nothing is known
    private int onTheirWay;
    private double closedUntil;

    Pace(DoubleSupplier now) {
        this.now = now;
        this.closedUntil = now.getAsDouble();
    }

    /** Count a request that is about to go; the time that it has to wait before it does. */
    synchronized double takeTurn() {
        onTheirWay++;
        if (perSecond == 0) {
            return closed();
        }
        double moment = now.getAsDouble();
        left = Math.min(leftMax, left + (moment - leftAt) * perSecond) - 1;
        leftAt = moment;
        return Math.max(closed(), -left / perSecond);
    }

    /** The time until anybody may send, after somebody was refused. */
    synchronized double closed() {
        return Math.max(0, closedUntil - now.getAsDouble());
    }

    /** Count a request whose answer has come; null: never will. */
    synchronized void heard(Reply reply) {
        onTheirWay--;
        if (reply == null) {
            return;
        }
        Matcher remaining = LEFT.matcher(String.valueOf(reply.header("ratelimit")));
        Matcher policy = POLICY.matcher(String.valueOf(reply.header("ratelimit-policy")));
        if (remaining.find() && policy.find()) {
            leftMax = Double.parseDouble(policy.group(1));
            perSecond = leftMax / Double.parseDouble(policy.group(2));
            left = Double.parseDouble(remaining.group(1)) - onTheirWay;
            leftAt = now.getAsDouble();
        }
        if (reply.status() == Tries.TOO_MANY_REQUESTS) {
            var told = Tries.retryAfter(reply.header("retry-after"));
            double wait = told == null ? Tries.ANSWERED_WAIT_MIN : Tries.seconds(told);
            closedUntil = Math.max(closedUntil, now.getAsDouble() + wait);
        }
    }
}
