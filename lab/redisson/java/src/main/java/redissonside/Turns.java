package redissonside;

import java.io.IOException;
import java.time.Instant;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.Map;
import org.redisson.api.RFencedLock;
import org.redisson.api.RLock;
import org.redisson.client.RedisException;

/** Locks and unlocks one name again and again in the calling thread, and measures how long that takes. */
final class Turns {
    private final RLock lock;
    private final String who;
    private final String name;
    private final TurnsConfig config;

    /** Of each turn: when it was granted, from the beginning, how long it waited, and how long it took; in nanoseconds. */
    private long[] measured = new long[3 * 1024];

    private int used;
    private long lastToken;

    Turns(Objects objects, String client, String name, TurnsConfig config) {
        this.lock = (RLock) objects.get(client, config.kind, name);
        this.who = client;
        this.name = name;
        this.config = config;
    }

    /** Returns when it began, by the clock of the machine, and what was measured. An interrupt ends its last wait. */
    Map<String, Object> run() throws IOException {
        Thread.interrupted(); // may have come after the last run
        try (Register register = config.register == null ? null : new Register(config.register)) {
            Instant now = Instant.now();
            long began = System.nanoTime();
            boolean finished = loop(register, began);
            Map<String, Object> all = new LinkedHashMap<>();
            all.put("began", now.getEpochSecond() * 1_000_000_000 + now.getNano());
            all.put("finished", finished);
            all.put("turns", Arrays.copyOf(measured, used));
            return all;
        }
    }

    private boolean loop(Register register, long began) throws IOException {
        long end = began + config.runFor * 1_000_000;
        for (long last = began; last < end; ) {
            try {
                take();
            } catch (InterruptedException e) {
                return false;
            } catch (RedisException e) {
                if (e.getCause() instanceof InterruptedException) { // while the server's answer was awaited
                    return false;
                }
                throw e;
            }
            long granted = System.nanoTime();
            if (register != null) {
                register.enter(name, who, "exclusive", 1, null);
            }
            if (config.hold > 0) {
                spin(granted + config.hold * 1000);
            }
            if (register != null) {
                register.leave(name, who);
            }
            lock.unlock();
            long now = System.nanoTime();
            add(granted - began, granted - last, now - last);
            last = now;
        }
        return true;
    }

    private void take() throws InterruptedException {
        if (!(lock instanceof RFencedLock)) {
            lock.lockInterruptibly();
            return;
        }
        long token = ((RFencedLock) lock).lockAndGetToken();
        if (token <= lastToken) {
            throw new IllegalStateException("order is violated: token " + token + " came after " + lastToken);
        }
        lastToken = token;
    }

    private void add(long grant, long wait, long length) {
        if (used == measured.length) {
            measured = Arrays.copyOf(measured, 2 * used);
        }
        measured[used++] = grant;
        measured[used++] = wait;
        measured[used++] = length;
    }

    /** Sleeps, but not until the end, as sleeping is not exact. */
    private static void spin(long until) {
        long sleep = (until - System.nanoTime()) / 1_000_000 - 2;
        try {
            if (sleep > 0) {
                Thread.sleep(sleep);
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt(); // ends the next wait
        }
        while (System.nanoTime() < until) {
            Thread.yield();
        }
    }
}
