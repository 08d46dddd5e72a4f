package dev.alama.client;

import java.io.IOException;
import java.net.ConnectException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpConnectTimeoutException;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.net.http.HttpTimeoutException;
import java.time.Duration;
import java.util.HashMap;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import javax.net.ssl.SSLHandshakeException;

/** Sends one request, and knows the time: over the network, or to a {@link FakeAlama}. */
interface Transport {
    /** Give the answer, or throw {@link ConnectionFailed} or {@link TimedOut}. */
    Reply send(Call<?> call, Map<String, String> headers, Duration timeout) throws InterruptedException;

    /** Seconds of a clock that never leaps. */
    double now();

    void sleep(double seconds) throws InterruptedException;

    /** The network. */
    record Http(HttpClient http, String baseUrl) implements Transport {
        /** So long after the time for the head is over the body has to be there, so that it is known which was late. */
        private static final Duration BODY = Duration.ofMillis(50);

        @Override
        public Reply send(Call<?> call, Map<String, String> headers, Duration timeout) throws InterruptedException {
            CompletableFuture<HttpResponse<byte[]>> coming =
                    http.sendAsync(request(call, headers, timeout), HttpResponse.BodyHandlers.ofByteArray());
            try {
                HttpResponse<byte[]> response = coming.get(timeout.plus(BODY).toNanos(), TimeUnit.NANOSECONDS);
                Map<String, String> named = new HashMap<>();
                response.headers()
                        .map()
                        .forEach((name, texts) -> named.put(name.toLowerCase(Locale.ROOT), texts.get(0)));
                return new Reply(response.statusCode(), named, response.body());
            } catch (TimeoutException error) {
                throw new TimedOut("the answer did not come to its end in time", true, error);
            } catch (ExecutionException error) {
                throw failure(error.getCause());
            } finally {
                coming.cancel(true); // closes the connection of an answer that nobody waits for any more
            }
        }

        private HttpRequest request(Call<?> call, Map<String, String> headers, Duration timeout) {
            HttpRequest.Builder request = HttpRequest.newBuilder(URI.create(baseUrl + call.target()))
                    .version(HttpClient.Version.HTTP_1_1)
                    .timeout(timeout)
                    .method(
                            call.method(),
                            call.body() == null
                                    ? HttpRequest.BodyPublishers.noBody()
                                    : HttpRequest.BodyPublishers.ofByteArray(call.body()));
            headers.forEach(request::setHeader);
            return request.build();
        }

        /** What the client of Java says, in our words; its own error is the cause. */
        private static ConnectionFailed failure(Throwable error) {
            if (error instanceof HttpTimeoutException) {
                return new TimedOut("no answer in time", !(error instanceof HttpConnectTimeoutException), error);
            }
            if (error instanceof IOException) {
                boolean neverSent = error instanceof ConnectException || error instanceof SSLHandshakeException;
                String said = error.getMessage();
                return new ConnectionFailed(said == null ? "no connection" : said, !neverSent, error);
            }
            throw new IllegalStateException(error); // a defect of the client of Java, or of ours
        }

        @Override
        public double now() {
            return System.nanoTime() / 1e9;
        }

        @Override
        public void sleep(double seconds) throws InterruptedException {
            TimeUnit.NANOSECONDS.sleep((long) (seconds * 1e9));
        }
    }
}
