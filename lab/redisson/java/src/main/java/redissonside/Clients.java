package redissonside;

import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.redisson.Redisson;
import org.redisson.api.RedissonClient;
import org.redisson.client.codec.Codec;
import org.redisson.config.BaseConfig;
import org.redisson.config.BaseMasterSlaveServersConfig;
import org.redisson.config.ClusterServersConfig;
import org.redisson.config.Config;
import org.redisson.config.ConstantDelay;
import org.redisson.config.Protocol;
import org.redisson.config.SentinelServersConfig;
import org.redisson.config.ShardedSubscriptionMode;
import org.redisson.config.SingleServerConfig;

/** The Redisson clients of this process, by name. */
final class Clients {
    private final Map<String, RedissonClient> open = new ConcurrentHashMap<>();

    RedissonClient get(String name) {
        RedissonClient c = open.get(name);
        if (c == null) {
            throw new IllegalArgumentException("client " + name + " is not open");
        }
        return c;
    }

    /** Opens a client and returns its id. */
    String open(String name, ClientConfig c) {
        RedissonClient client = Redisson.create(config(c));
        RedissonClient before = open.putIfAbsent(name, client);
        if (before != null) {
            client.shutdown();
            throw new IllegalArgumentException("client " + name + " is open already");
        }
        return client.getId();
    }

    void close(String name) {
        RedissonClient c = open.remove(name);
        if (c != null) {
            c.shutdown();
        }
    }

    private static Config config(ClientConfig c) {
        Config config = new Config();
        if (!c.defaults) {
            config.setThreads(4);
            config.setNettyThreads(4);
        }
        if (c.watchdog != null) config.setLockWatchdogTimeout(c.watchdog);
        if (c.watchdogBatch != null) config.setLockWatchdogBatchSize(c.watchdogBatch);
        if (c.fairWait != null) config.setFairLockWaitTimeout(c.fairWait);
        if (c.slavesSyncTimeout != null) config.setSlavesSyncTimeout(c.slavesSyncTimeout);
        if (c.checkSyncedSlaves != null) config.setCheckLockSyncedSlaves(c.checkSyncedSlaves);
        if (c.scriptCache != null) config.setUseScriptCache(c.scriptCache);
        if (c.protocol != null) config.setProtocol(Protocol.valueOf(c.protocol));
        if (c.codec != null) config.setCodec(codec(c.codec));
        servers(config, c);
        return config;
    }

    private static Codec codec(String name) {
        try {
            return (Codec) Class.forName(name).getDeclaredConstructor().newInstance();
        } catch (ReflectiveOperationException e) {
            throw new IllegalArgumentException(e);
        }
    }

    private static void servers(Config config, ClientConfig c) {
        switch (c.mode) {
            case "single":
                SingleServerConfig single = config.useSingleServer();
                single.setAddress(c.addresses.get(0));
                if (!c.defaults) {
                    single.setConnectionMinimumIdleSize(1);
                    single.setSubscriptionConnectionMinimumIdleSize(1);
                }
                common(single, c);
                return;
            case "sentinel":
                SentinelServersConfig sentinel = config.useSentinelServers();
                sentinel.setMasterName(c.masterName);
                sentinel.setSentinelAddresses(c.addresses);
                several(sentinel, c);
                return;
            case "cluster":
                ClusterServersConfig cluster = config.useClusterServers();
                cluster.setNodeAddresses(c.addresses);
                cluster.setScanInterval(1000);
                if (c.sharded != null) cluster.setShardedSubscriptionMode(ShardedSubscriptionMode.valueOf(c.sharded));
                several(cluster, c);
                return;
            case "replicated":
                config.useReplicatedServers().setNodeAddresses(c.addresses);
                several(config.useReplicatedServers(), c);
                return;
            default:
                throw new IllegalArgumentException("there is no mode " + c.mode);
        }
    }

    private static void several(BaseMasterSlaveServersConfig<?> servers, ClientConfig c) {
        if (!c.defaults) {
            servers.setMasterConnectionMinimumIdleSize(1);
            servers.setSlaveConnectionMinimumIdleSize(1);
            servers.setSubscriptionConnectionMinimumIdleSize(1);
        }
        common(servers, c);
    }

    private static void common(BaseConfig<?> servers, ClientConfig c) {
        if (!c.defaults) servers.setPingConnectionInterval(0); // no requests but those of locks
        if (c.password != null) servers.setPassword(c.password);
        if (c.clientName != null) servers.setClientName(c.clientName);
        if (c.timeout != null) servers.setTimeout(c.timeout);
        if (c.connectTimeout != null) servers.setConnectTimeout(c.connectTimeout);
        if (c.subscriptionTimeout != null) servers.setSubscriptionTimeout(c.subscriptionTimeout);
        if (c.retryAttempts != null) servers.setRetryAttempts(c.retryAttempts);
        if (c.retryDelay != null) servers.setRetryDelay(new ConstantDelay(Duration.ofMillis(c.retryDelay)));
        if (c.prefix != null) prefix(servers, c.prefix);
    }

    /** Puts a prefix in front of all names. NameMapper is in another package since version 4. */
    private static void prefix(BaseConfig<?> servers, String prefix) {
        for (Method m : servers.getClass().getMethods()) {
            Class<?>[] types = m.getParameterTypes();
            if (!m.getName().equals("setNameMapper") || m.isBridge() || types.length != 1) {
                continue;
            }
            Object mapper =
                    Proxy.newProxyInstance(
                            types[0].getClassLoader(),
                            new Class<?>[] {types[0]},
                            (proxy, method, args) -> {
                                switch (method.getName()) {
                                    case "map":
                                        return prefix + args[0];
                                    case "unmap":
                                        return ((String) args[0]).substring(prefix.length());
                                    default:
                                        return method.getName().equals("hashCode") ? (Object) 0 : prefix;
                                }
                            });
            try {
                m.invoke(servers, mapper);
                return;
            } catch (ReflectiveOperationException e) {
                throw new IllegalStateException(e);
            }
        }
        throw new IllegalStateException("this version has no setNameMapper");
    }
}
