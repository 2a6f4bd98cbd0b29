package redissonside;

/** What {@link Turns} does. */
final class TurnsConfig {
    String kind = "lock";

    /** How long it goes on, in milliseconds. */
    long runFor = 1000;

    /** How long each hold lasts, in microseconds. */
    long hold;

    /** host:port of the register that is told of each hold, or null. */
    String register;
}
