import java.io.*;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.*;
import java.util.concurrent.*;
import java.util.regex.*;
import java.util.stream.Collectors;

/**
 * A lock client of picklock in Java: one file, without dependencies. CuratorMutex.java shows how it is used.
 *
 * <p>One lock object serves a client process. Each worker calls it from a thread of its own, always the same one, so
 * that grants may belong to threads.
 */
public final class Picklock {
    /** A lock whose grants are of type G. */
    public interface Lock<G> {
        /** Waits for the lock, at most so long, and returns the grant; null if there is none. */
        G acquire(String key, Duration timeout, boolean shared) throws Exception;

        void release(G grant) throws Exception;

        /** Takes several permits of a semaphore, all or none; `acquire` takes one. */
        default G acquirePermits(String key, Duration timeout, int permits) throws Exception {
            throw new UnsupportedOperationException("this lock has one permit");
        }

        /** Changes the mode of a grant without letting go of it, and returns the new grant. */
        default G convert(G grant, boolean shared) throws Exception {
            throw new UnsupportedOperationException("this lock converts no grants");
        }

        /** Begins the time to live of a grant anew, and returns the grant; null if it is over. */
        default G extend(G grant) throws Exception {
            throw new UnsupportedOperationException("this lock extends no grants");
        }

        /** Says whether the lock still claims a grant. */
        default boolean held(G grant) throws Exception {
            throw new UnsupportedOperationException("this lock does not tell");
        }

        /** Returns the fencing token of a grant, if it has one. */
        default Long token(G grant) {
            return null;
        }
    }

    /** Makes the lock of a client process, from what the harness says of the run. */
    public interface Maker<G> {
        Lock<G> make(Picklock run) throws Exception;
    }

    /** Serves the harness until it hangs up. After a definite exception, nothing has happened; else nobody knows. */
    @SafeVarargs
    public static <G> void serve(Maker<G> maker, Class<? extends Exception>... definite) throws Exception {
        try {
            new Picklock().listen(maker, List.of(definite));
        } catch (Throwable error) {
            var frames = error.getStackTrace();
            // One line: the harness shows the last ones.
            System.err.println(error + (frames.length > 0 ? ", at " + frames[0] : ""));
            Runtime.getRuntime().halt(1);
        }
        Runtime.getRuntime().halt(0); // Threads of the lock need not end.
    }

    /** The fields of the first request: texts, of which some are numbers, and lists of texts. */
    public Map<String, Object> init;
    private final PrintStream out =
            new PrintStream(new FileOutputStream(FileDescriptor.out), true, StandardCharsets.UTF_8);
    private final Map<Long, ExecutorService> workers = new ConcurrentHashMap<>();

    public Duration ttl() {
        return Duration.ofNanos(number(init, "ttl_ns"));
    }

    /** Tells the harness that the workers may have lost what they hold. Callable from any thread. */
    public void lost(Object error) {
        tell("lost", error);
    }

    /** Does the same of a loss that is in doubt, and in spite of which the program goes on. */
    public void doubt(Object error) {
        tell("doubt", error);
    }

    private void tell(String level, Object error) {
        workers.keySet().forEach(worker -> say("type", "lost", "worker", worker, "level", level, "error", error));
    }

    private <G> void listen(Maker<G> maker, List<Class<? extends Exception>> definite) throws Exception {
        System.setOut(System.err); // Whatever a library prints goes to the log.
        var in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        var grants = new ConcurrentHashMap<String, G>();
        init = request(in.readLine());
        var lock = maker.make(this);
        say("id", number(init, "id"), "type", "ok", "version", 1, "can", abilities(lock));
        for (String line; (line = in.readLine()) != null; ) {
            var request = request(line);
            long id = number(request, "id"), worker = number(request, "worker");
            if (request.get("op").equals("exit")) {
                return;
            }
            workers.computeIfAbsent(worker, it -> Executors.newSingleThreadExecutor()).submit(() -> {
                try {
                    var grant = carryOut(lock, grants, request);
                    var token = grant == null ? null : lock.token(grant);
                    say("id", id, "worker", worker, "type", "ok", "token", token);
                } catch (Throwable error) {
                    var fail = error == NOT_GRANTED || error == NOT_HELD;
                    fail |= definite.stream().anyMatch(it -> it.isInstance(error));
                    say("id", id, "worker", worker, "type", fail ? "fail" : "info", "error", error);
                }
            });
        }
    }

    /** The optional methods of a lock, each with the ability that it gives. */
    private static final Map<String, String> ABILITIES =
            Map.of("acquirePermits", "permits", "convert", "convert", "extend", "extend", "held", "held");

    /** Returns what a lock can do beyond the four requests, by the methods that it has of its own. */
    private static List<String> abilities(Lock<?> lock) {
        var can = new ArrayList<>(List.of("timed", "shared", "workers"));
        for (var method : lock.getClass().getMethods()) {
            var ability = ABILITIES.get(method.getName());
            if (ability != null && method.getDeclaringClass() != Lock.class && !can.contains(ability)) {
                can.add(ability);
            }
        }
        return can;
    }

    private static final Exception NOT_GRANTED = new TimeoutException("not granted");
    private static final Exception NOT_HELD = new TimeoutException("not held");

    /** Does what a request asks for, and returns the grant, if that is one. */
    private static <G> G carryOut(Lock<G> lock, Map<String, G> grants, Map<String, Object> request) throws Exception {
        var hold = number(request, "worker") + "/" + number(request, "hold");
        var shared = "shared".equals(request.get("mode"));
        var timeout = Duration.ofNanos(number(request, "acquire_timeout_ns"));
        var permits = (int) number(request, "permits");
        var operation = (String) request.get("op");
        if (operation.equals("touch")) {
            return null;
        }
        var grant = grants.get(hold);
        if (grant == null && !operation.equals("acquire")) {
            throw NOT_HELD;
        }
        switch (operation) {
            case "release":
                grants.remove(hold);
                lock.release(grant);
                return null;
            case "held":
                if (!lock.held(grant)) {
                    throw NOT_HELD;
                }
                return null;
            case "convert":
                grant = lock.convert(grant, shared);
                break;
            case "extend":
                grant = lock.extend(grant);
                break;
            default:
                var key = (String) request.get("key");
                grant = permits > 1 ? lock.acquirePermits(key, timeout, permits) : lock.acquire(key, timeout, shared);
        }
        if (grant == null) {
            throw NOT_GRANTED;
        }
        grants.put(hold, grant);
        return grant;
    }

    /** Writes a line: names and values in turn, without those that are null. */
    private synchronized void say(Object... fields) {
        var line = new StringJoiner(",", "{", "}");
        for (int i = 0; i < fields.length; i += 2) {
            if (fields[i + 1] != null) {
                line.add(json(fields[i]) + ":" + json(fields[i + 1]));
            }
        }
        out.println(line);
    }

    private static String json(Object value) {
        if (value instanceof List<?> list) {
            return list.stream().map(Picklock::json).collect(Collectors.joining(",", "[", "]"));
        }
        var text = value.toString().replaceAll("[\"\\\\]", "\\\\$0").replaceAll("\\p{Cntrl}", " ");
        return value instanceof Number ? text : '"' + text + '"';
    }

    private static long number(Map<String, Object> request, String name) {
        return Long.parseLong(request.getOrDefault(name, "0").toString());
    }

    private static final Pattern FIELD =
            Pattern.compile("\"(\\w+)\"\\s*:\\s*(?:\"([^\"]*)\"|\\[([^\\]]*)]|([-+.\\w]+))");

    /** Reads a flat object of JSON: texts without escapes, lists of them, and numbers, which stay texts. */
    private static Map<String, Object> request(String line) {
        var fields = new HashMap<String, Object>();
        for (var found = FIELD.matcher(line); found.find(); ) {
            var list = found.group(3) == null ? null : List.of(found.group(3).replaceAll("[\"\\s]", "").split(","));
            var text = found.group(2) == null ? found.group(4) : found.group(2);
            fields.putIfAbsent(found.group(1), list == null ? text : list);
        }
        return fields;
    }
}
