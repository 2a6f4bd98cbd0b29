package redissonside;

import java.util.List;

/** How a Redisson client is configured. What is null has Redisson's default; times are in milliseconds. */
final class ClientConfig {
    /** single, sentinel, cluster, or replicated. */
    String mode = "single";

    List<String> addresses = List.of();
    String masterName;
    String password;
    String clientName;
    String protocol;
    String prefix;

    /** The class of a codec. */
    String codec;

    Long watchdog;
    Long fairWait;
    Long slavesSyncTimeout;
    Boolean checkSyncedSlaves;
    Boolean scriptCache;
    Integer watchdogBatch;
    Integer timeout;
    Integer connectTimeout;
    Integer subscriptionTimeout;
    Integer retryAttempts;
    Integer retryDelay;

    /** Keeps Redisson's defaults for threads, connections and pings. Otherwise there are as few as possible. */
    boolean defaults;

    /** AUTO, ON or OFF, in a cluster. */
    String sharded;
}
