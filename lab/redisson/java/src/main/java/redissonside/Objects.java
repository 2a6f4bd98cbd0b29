package redissonside;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.redisson.api.RLock;
import org.redisson.api.RedissonClient;

/**
 * The objects that were asked for. All threads of a client share an object, as it remembers the last explicit lease of a
 * lock.
 */
final class Objects {
    private final Clients clients;
    private final Map<String, Object> known = new ConcurrentHashMap<>();

    Objects(Clients clients) {
        this.clients = clients;
    }

    Object get(String client, String kind, String name) {
        String key = client + " " + kind + " " + name;
        Object o = known.get(key);
        if (o == null) {
            o = make(client, kind, name);
            Object before = known.putIfAbsent(key, o);
            o = before == null ? o : before;
        }
        return o;
    }

    void forget(String client) {
        known.keySet().removeIf(key -> key.startsWith(client + " "));
    }

    /** A new object, but for the locks of which it consists. */
    Object make(String client, String kind, String name) {
        RedissonClient c = clients.get(client);
        switch (kind) {
            case "client":
                return c;
            case "keys":
                return c.getKeys();
            case "multi":
                return c.getMultiLock(parts(name));
            case "red":
                return red(c, parts(name));
            case "group":
                String[] group = name.split("\\+");
                return c.getMultiLock(group[0], List.<Object>of((Object[]) group).subList(1, group.length));
            case "semaphore":
                return c.getSemaphore(name);
            case "permits":
                return c.getPermitExpirableSemaphore(name);
            case "latch":
                return c.getCountDownLatch(name);
            default:
                return lock(c, kind, name);
        }
    }

    private static RLock lock(RedissonClient c, String kind, String name) {
        switch (kind) {
            case "lock":
                return c.getLock(name);
            case "fair":
                return c.getFairLock(name);
            case "spin":
                return c.getSpinLock(name);
            case "fenced":
                return c.getFencedLock(name);
            case "read":
                return c.getReadWriteLock(name).readLock();
            case "write":
                return c.getReadWriteLock(name).writeLock();
            case "nonReentrant":
                return newer(c, "getNonReentrantLock", name);
            case "nonReentrantFair":
                return newer(c, "getNonReentrantFairLock", name);
            default:
                throw new IllegalArgumentException("there is no kind " + kind);
        }
    }

    /** Older versions, with which this is also compiled, lack the method. */
    private static RLock newer(RedissonClient c, String method, String name) {
        try {
            return (RLock) RedissonClient.class.getMethod(method, String.class).invoke(c, name);
        } catch (NoSuchMethodException e) {
            throw new UnsupportedOperationException("this version has no " + method);
        } catch (ReflectiveOperationException e) {
            throw new IllegalStateException(e);
        }
    }

    @SuppressWarnings("deprecation")
    private static RLock red(RedissonClient c, RLock[] locks) {
        return c.getRedLock(locks);
    }

    /** The locks of "a.lock.x+b.fair.y": client, kind and name of each. */
    private RLock[] parts(String name) {
        List<RLock> locks = new ArrayList<>();
        for (String part : name.split("\\+")) {
            String[] words = part.split("\\.", 3);
            locks.add((RLock) get(words[0], words[1], words[2]));
        }
        return locks.toArray(new RLock[0]);
    }
}
