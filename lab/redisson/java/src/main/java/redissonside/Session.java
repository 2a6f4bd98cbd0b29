package redissonside;

import com.google.gson.Gson;
import com.google.gson.GsonBuilder;
import com.google.gson.JsonArray;
import java.io.PrintStream;
import java.lang.reflect.InvocationTargetException;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutionException;

/** Runs requests: those of one thread in their order, and those of different threads at the same time. */
final class Session {
    private final Gson gson = new GsonBuilder().serializeNulls().disableHtmlEscaping().create();
    private final PrintStream answers;
    private final Clients clients = new Clients();
    private final Objects objects = new Objects(clients);
    private final Map<String, Worker> workers = new ConcurrentHashMap<>();

    Session(PrintStream answers) {
        this.answers = answers;
    }

    void accept(String line) {
        Request r = gson.fromJson(line, Request.class);
        String thread = r.client + "/" + r.thread;
        Worker worker = workers.computeIfAbsent(thread, Worker::new);
        if (r.op.equals("interrupt")) { // the thread itself is busy
            worker.interrupt();
            answer(r, null, null);
            return;
        }
        if (r.op.equals("sleeps")) {
            answer(r, worker.sleeps(), null);
            return;
        }
        worker.run(() -> run(r));
    }

    private void run(Request r) {
        try {
            answer(r, value(r), null);
        } catch (Throwable e) { // every failure is an answer
            answer(r, null, e);
        }
    }

    private Object value(Request r) throws Exception {
        switch (r.op) {
            case "open":
                return clients.open(r.client, gson.fromJson(r.args, ClientConfig.class));
            case "close":
                objects.forget(r.client);
                clients.close(r.client);
                return null;
            case "owner":
                return clients.get(r.client).getId() + ":" + Thread.currentThread().getId();
            case "hammer":
                return new Hammer(objects, r.client, r.name, gson.fromJson(r.args, HammerConfig.class)).run();
            case "turns":
                return new Turns(objects, r.client, r.name, gson.fromJson(r.args, TurnsConfig.class)).run();
            default:
                int dot = r.op.indexOf('.');
                if (dot < 0) {
                    throw new IllegalArgumentException("there is no op " + r.op);
                }
                Object target = objects.get(r.client, r.op.substring(0, dot), r.name);
                return Calls.call(target, r.op.substring(dot + 1), (JsonArray) r.args);
        }
    }

    private void answer(Request r, Object value, Throwable failure) {
        Map<String, Object> answer = new LinkedHashMap<>();
        answer.put("id", r.id);
        if (failure == null) {
            answer.put("value", value);
        } else {
            Throwable cause = cause(failure);
            answer.put("error", cause.getClass().getSimpleName() + ": " + cause.getMessage());
        }
        String line = gson.toJson(answer);
        synchronized (answers) {
            answers.println(line);
        }
    }

    private static Throwable cause(Throwable e) {
        while (e.getCause() != null
                && (e instanceof InvocationTargetException
                        || e instanceof ExecutionException
                        || e instanceof CompletionException)) {
            e = e.getCause();
        }
        return e;
    }
}
