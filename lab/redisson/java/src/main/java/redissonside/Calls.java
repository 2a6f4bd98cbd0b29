package redissonside;

import com.google.gson.JsonArray;
import com.google.gson.JsonElement;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.TimeUnit;

/** Calls a method of an object by its name. */
final class Calls {
    private Calls() {}

    /** Returns what the method returns: for a future, its result. */
    static Object call(Object target, String name, JsonArray args) throws Exception {
        for (Class<?> type : publicTypes(target.getClass())) {
            for (Method m : type.getMethods()) {
                if (m.getName().equals(name) && !m.isBridge() && fits(m, args)) {
                    return result(m, target, args);
                }
            }
        }
        throw new UnsupportedOperationException(
                "this version has no " + target.getClass().getSimpleName() + "." + name + args);
    }

    private static Object result(Method m, Object target, JsonArray args) throws Exception {
        Object[] values = new Object[args.size()];
        for (int i = 0; i < values.length; i++) {
            values[i] = convert(args.get(i), m.getParameterTypes()[i]);
        }
        Object result;
        try {
            result = m.invoke(target, values);
        } catch (InvocationTargetException e) {
            if (e.getCause() instanceof Exception) {
                throw (Exception) e.getCause();
            }
            throw e;
        }
        if (result instanceof CompletionStage) {
            result = ((CompletionStage<?>) result).toCompletableFuture().get();
        }
        return plain(result);
    }

    /** The interfaces of a class, whose methods can be called although the class itself may not be public. */
    private static List<Class<?>> publicTypes(Class<?> c) {
        List<Class<?>> types = new ArrayList<>();
        for (Class<?> k = c; k != null; k = k.getSuperclass()) {
            for (Class<?> i : k.getInterfaces()) {
                types.add(i);
            }
            if (Modifier.isPublic(k.getModifiers()) && k != Object.class) {
                types.add(k);
            }
        }
        return types;
    }

    private static boolean fits(Method m, JsonArray args) {
        Class<?>[] types = m.getParameterTypes();
        if (types.length != args.size()) {
            return false;
        }
        for (int i = 0; i < types.length; i++) {
            if (!fits(types[i], args.get(i))) {
                return false;
            }
        }
        return true;
    }

    private static boolean fits(Class<?> type, JsonElement arg) {
        if (type == TimeUnit.class) {
            return isText(arg) && arg.getAsString().equals("ms");
        }
        if (type == Duration.class) {
            return isText(arg) && arg.getAsString().startsWith("PT");
        }
        if (type == String.class) {
            return isText(arg);
        }
        if (type == long.class || type == int.class) {
            return arg.isJsonPrimitive() && arg.getAsJsonPrimitive().isNumber();
        }
        return arg.isJsonArray() && (type == List.class || type == Collection.class || type == String[].class);
    }

    private static boolean isText(JsonElement arg) {
        return arg.isJsonPrimitive() && arg.getAsJsonPrimitive().isString();
    }

    private static Object convert(JsonElement arg, Class<?> type) {
        if (type == TimeUnit.class) {
            return TimeUnit.MILLISECONDS;
        }
        if (type == Duration.class) {
            return Duration.parse(arg.getAsString());
        }
        if (type == String.class) {
            return arg.getAsString();
        }
        if (type == long.class) {
            return arg.getAsLong();
        }
        if (type == int.class) {
            return arg.getAsInt();
        }
        List<String> all = new ArrayList<>();
        arg.getAsJsonArray().forEach(e -> all.add(e.getAsString()));
        return type == String[].class ? all.toArray(new String[0]) : all;
    }

    /** What JSON has a form for stays as it is; all else becomes text. */
    private static Object plain(Object result) {
        if (result == null || result instanceof Boolean || result instanceof Number || result instanceof String) {
            return result;
        }
        if (result instanceof Collection) {
            List<Object> all = new ArrayList<>();
            ((Collection<?>) result).forEach(o -> all.add(plain(o)));
            return all;
        }
        return result.toString();
    }
}
