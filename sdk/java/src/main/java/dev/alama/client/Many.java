package dev.alama.client;

import java.util.ArrayDeque;
import java.util.Iterator;
import java.util.NoSuchElementException;
import java.util.Optional;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorCompletionService;
import java.util.concurrent.Future;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;
import java.util.function.Supplier;

/** The rows of many applications: a few are on their way at once, and the next are at hand when one is done. */
final class Many implements Iterator<Scored> {
    private static final long IDLE_S_MAX = 1;
    private static final long CLOSING_S_MAX = 5;

    private final Iterator<Application> applications;
    private final boolean inOrder;
    private final int pendingMax;
    private final Function<Application, Supplier<Score>> work;
    private final ThreadPoolExecutor pool;
    private final ExecutorCompletionService<Scored> done;
    private final ArrayDeque<Future<Scored>> pending = new ArrayDeque<>();
    private int index;

    /** {@code work} is made in the thread that asks for rows, and done by another. */
    Many(
            Iterator<Application> applications,
            boolean inOrder,
            int atOnce,
            Function<Application, Supplier<Score>> work) {
        this.applications = applications;
        this.inOrder = inOrder;
        this.pendingMax = 2 * atOnce;
        this.work = work;
        BlockingQueue<Runnable> waiting = new LinkedBlockingQueue<>();
        this.pool = new ThreadPoolExecutor(atOnce, atOnce, IDLE_S_MAX, TimeUnit.SECONDS, waiting, task -> {
            Thread thread = new Thread(task, "alama-score-many");
            thread.setDaemon(true);
            return thread;
        });
        pool.allowCoreThreadTimeOut(true); // so that a stream that nobody closes leaves no thread
        this.done = new ExecutorCompletionService<>(pool);
    }

    @Override
    public boolean hasNext() {
        while (pending.size() < pendingMax && applications.hasNext()) {
            submit(index++, applications.next());
        }
        return !pending.isEmpty();
    }

    private void submit(int number, Application application) {
        Supplier<Score> score = prepared(application);
        Callable<Scored> row = () -> {
            try {
                return new Scored(number, application, Optional.of(score.get()), Optional.empty());
            } catch (AlamaError error) {
                return new Scored(number, application, Optional.empty(), Optional.of(error));
            }
        };
        pending.add(inOrder ? pool.submit(row) : done.submit(row));
    }

    /** The work on an application; where it cannot be sent, that is told in its row. */
    private Supplier<Score> prepared(Application application) {
        try {
            return work.apply(application);
        } catch (InvalidArgument error) {
            return () -> {
                throw error;
            };
        }
    }

    @Override
    public Scored next() {
        if (!hasNext()) {
            throw new NoSuchElementException();
        }
        try {
            Future<Scored> row = inOrder ? pending.peek() : done.take();
            Scored scored = row.get();
            pending.remove(row);
            return scored;
        } catch (InterruptedException error) {
            throw Alama.interrupted(error);
        } catch (ExecutionException error) {
            throw new IllegalStateException(error.getCause()); // a defect: whatever may happen is in the row
        }
    }

    /** Send nothing more, and leave what is on its way. */
    void close() {
        pool.shutdownNow();
        try {
            pool.awaitTermination(CLOSING_S_MAX, TimeUnit.SECONDS);
        } catch (InterruptedException error) {
            Thread.currentThread().interrupt();
        }
    }
}
