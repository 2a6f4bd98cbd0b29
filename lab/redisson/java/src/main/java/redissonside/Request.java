package redissonside;

import com.google.gson.JsonArray;
import com.google.gson.JsonElement;

/**
 * One request. {@code op} is "open", "close", "owner", "interrupt", "hammer", or the kind of an object and its method, such
 * as "lock.tryLock". {@code thread} is the name of the Java thread of {@code client} that runs it, {@code name} that of
 * the object, and {@code args} are the arguments of the method; "ms" stands for milliseconds.
 */
final class Request {
    long id;
    String op = "";
    String client = "";
    String thread = "main";
    String name = "";
    JsonElement args = new JsonArray();
}
