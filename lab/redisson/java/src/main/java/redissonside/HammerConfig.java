package redissonside;

import java.util.List;

/** What a hammer does. Times are in milliseconds. */
final class HammerConfig {
    /** The kinds of which each hold takes one at random, such as ["read", "write"]. */
    List<String> kinds = List.of("lock");

    int threads = 4;
    long runFor = 1000;

    /** The longest hold, and the longest pause between two of them. */
    int hold = 5;

    int pause = 5;

    /** The longest wait of those takes that wait with a limit. */
    int wait = 200;

    /** An explicit lease, or 0 for the watchdog. */
    long lease;

    /** How many permits a take asks for at most. */
    int permits = 1;

    /** The percentage of holds that take the lock once more, for kinds that allow it. */
    int again;

    /** host:port of the register. */
    String register;

    long seed;
}
