package redissonside;

import java.util.Random;
import java.util.concurrent.TimeUnit;
import org.redisson.api.RFencedLock;
import org.redisson.api.RLock;
import org.redisson.api.RPermitExpirableSemaphore;
import org.redisson.api.RSemaphore;

/** One take of a hammer, and what it got. */
abstract class Hold {
    final HammerConfig config;
    final Random random;

    Hold(HammerConfig config, Random random) {
        this.config = config;
        this.random = random;
    }

    static Hold of(Objects objects, String client, String kind, String name, HammerConfig config, Random random) {
        Object o = objects.make(client, kind, name);
        switch (kind) {
            case "semaphore":
                return new OfSemaphore((RSemaphore) o, config, random);
            case "permits":
                return new OfPermits((RPermitExpirableSemaphore) o, config, random);
            case "fenced":
                return new OfFenced((RFencedLock) o, config, random);
            default:
                String mode = kind.equals("read") ? "shared" : "exclusive";
                return new OfLock((RLock) o, mode, kind.startsWith("nonReentrant"), config, random);
        }
    }

    abstract boolean take() throws InterruptedException;

    /** Takes the lock once more, if it is of a kind that allows that. */
    boolean again() throws InterruptedException {
        return false;
    }

    abstract void release();

    String mode() {
        return "exclusive";
    }

    int weight() {
        return 1;
    }

    Long token() {
        return null;
    }

    private static class OfLock extends Hold {
        private final RLock lock;
        private final String mode;
        private final boolean once;
        final long lease;

        OfLock(RLock lock, String mode, boolean once, HammerConfig config, Random random) {
            super(config, random);
            this.lock = lock;
            this.mode = mode;
            this.once = once;
            lease = config.lease == 0 ? -1 : config.lease;
        }

        @Override
        boolean take() throws InterruptedException {
            switch (random.nextInt(3)) {
                case 0:
                    return takeWithin(0);
                case 1:
                    return takeWithin(1 + random.nextInt(config.wait));
                default:
                    await();
                    return true;
            }
        }

        boolean takeWithin(long wait) throws InterruptedException {
            return lock.tryLock(wait, lease, TimeUnit.MILLISECONDS);
        }

        void await() {
            lock.lock(lease, TimeUnit.MILLISECONDS);
        }

        @Override
        boolean again() throws InterruptedException {
            return !once && lock.tryLock(0, lease, TimeUnit.MILLISECONDS);
        }

        @Override
        void release() {
            lock.unlock();
        }

        @Override
        String mode() {
            return mode;
        }
    }

    /** With the token of the first of several holds. Locking again would take another one. */
    private static final class OfFenced extends OfLock {
        private final RFencedLock lock;
        private Long token;

        OfFenced(RFencedLock lock, HammerConfig config, Random random) {
            super(lock, "exclusive", true, config, random);
            this.lock = lock;
        }

        @Override
        boolean takeWithin(long wait) {
            token = lock.tryLockAndGetToken(wait, lease, TimeUnit.MILLISECONDS); // without arguments it waits
            return token != null;
        }

        @Override
        void await() {
            token = lock.lockAndGetToken();
        }

        @Override
        Long token() {
            return token;
        }
    }

    private static final class OfSemaphore extends Hold {
        private final RSemaphore semaphore;
        private final int weight;

        OfSemaphore(RSemaphore semaphore, HammerConfig config, Random random) {
            super(config, random);
            this.semaphore = semaphore;
            weight = 1 + random.nextInt(config.permits);
        }

        @Override
        boolean take() throws InterruptedException {
            switch (random.nextInt(2)) {
                case 0:
                    return semaphore.tryAcquire(weight);
                default:
                    return semaphore.tryAcquire(weight, 1 + random.nextInt(config.wait), TimeUnit.MILLISECONDS);
            }
        }

        @Override
        void release() {
            semaphore.release(weight);
        }

        @Override
        String mode() {
            return "permit";
        }

        @Override
        int weight() {
            return weight;
        }
    }

    private static final class OfPermits extends Hold {
        private final RPermitExpirableSemaphore semaphore;
        private String id;

        OfPermits(RPermitExpirableSemaphore semaphore, HammerConfig config, Random random) {
            super(config, random);
            this.semaphore = semaphore;
        }

        @Override
        boolean take() throws InterruptedException {
            int wait = random.nextInt(2) == 0 ? 0 : 1 + random.nextInt(config.wait);
            id = semaphore.tryAcquire(wait, config.lease == 0 ? -1 : config.lease, TimeUnit.MILLISECONDS);
            return id != null;
        }

        @Override
        void release() {
            semaphore.release(id);
        }

        @Override
        String mode() {
            return "permit";
        }
    }
}
