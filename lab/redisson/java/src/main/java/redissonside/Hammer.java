package redissonside;

import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicLong;
import org.redisson.client.RedisTimeoutException;

/** Threads that take and hold one name at random for a while, and tell a register when they enter and leave. */
final class Hammer {
    private final Objects objects;
    private final String client;
    private final String name;
    private final HammerConfig config;
    private final AtomicLong holds = new AtomicLong();
    private final AtomicLong refused = new AtomicLong();
    private final ConcurrentLinkedQueue<String> failures = new ConcurrentLinkedQueue<>();

    Hammer(Objects objects, String client, String name, HammerConfig config) {
        this.objects = objects;
        this.client = client;
        this.name = name;
        this.config = config;
    }

    /** Returns how many holds there were, how many takes were refused, and what failed. */
    Map<String, Object> run() throws InterruptedException {
        long end = System.nanoTime() + config.runFor * 1_000_000;
        Thread[] threads = new Thread[config.threads];
        for (int i = 0; i < threads.length; i++) {
            String me = client + "-java" + i;
            Random random = new Random(config.seed * 1000 + i);
            threads[i] = new Thread(() -> work(me, random, end), me);
            threads[i].setDaemon(true);
            threads[i].start();
        }
        for (Thread t : threads) {
            t.join();
        }
        Map<String, Object> counts = new LinkedHashMap<>();
        counts.put("holds", holds.get());
        counts.put("refused", refused.get());
        counts.put("failures", List.copyOf(failures));
        return counts;
    }

    private void work(String me, Random random, long end) {
        try (Register register = new Register(config.register)) {
            while (System.nanoTime() < end) {
                String kind = config.kinds.get(random.nextInt(config.kinds.size()));
                Hold hold = Hold.of(objects, client, kind, name, config, random);
                if (!took(hold)) {
                    refused.incrementAndGet();
                } else {
                    register.enter(name, me, hold.mode(), hold.weight(), hold.token());
                    boolean again = random.nextInt(100) < config.again && hold.again();
                    pause(random, config.hold);
                    if (again) {
                        hold.release();
                        pause(random, config.hold);
                    }
                    register.leave(name, me);
                    hold.release();
                    holds.incrementAndGet();
                }
                pause(random, config.pause);
            }
        } catch (Exception e) {
            failures.add(me + ": " + e);
        }
    }

    /** A take whose wait is so short that its subscription takes longer fails. It has taken nothing. */
    private static boolean took(Hold hold) throws InterruptedException {
        try {
            return hold.take();
        } catch (RedisTimeoutException e) {
            if (e.getMessage() != null && e.getMessage().contains("subscription")) {
                return false;
            }
            throw e;
        }
    }

    private static void pause(Random random, int longest) throws InterruptedException {
        if (longest > 0) {
            Thread.sleep(0, random.nextInt(1_000_000));
            Thread.sleep(random.nextInt(longest));
        }
    }
}
