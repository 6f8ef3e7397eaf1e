import java.io.*;
import java.math.BigDecimal;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.*;
import java.util.concurrent.*;
import java.util.regex.*;

/**
 * A lock client of picklock in Java: one file, without dependencies. CuratorMutex.java shows how it is used.
 *
 * <p>One object serves a client process. Each worker calls it from a thread of its own, always the same one, so that
 * locks may belong to threads.
 */
public final class Picklock {
    /** A lock whose grants are of type G. */
    public interface Lock<G> {
        /** Waits for the lock, at most so long, and returns the grant; null if there is none. */
        G acquire(String key, Duration timeout, boolean shared) throws Exception;

        void release(G grant) throws Exception;

        /** Changes the mode of a grant without letting go of it, and returns the new grant. */
        default G convert(G grant, boolean shared) throws Exception {
            throw new UnsupportedOperationException("this lock converts no grants");
        }

        /** Returns the fencing token of a grant, if it has one. */
        default Long token(G grant) {
            return null;
        }
    }

    /** Makes the lock of a client process. */
    public interface Maker<G> {
        Lock<G> make(Run run) throws Exception;
    }

    /** What the harness says of a run: the ttl, and all else in its first request. */
    public final class Run {
        public final Map<String, Object> init;
        public final Duration ttl;

        private Run(Map<String, Object> init) {
            this.init = init;
            ttl = Duration.ofNanos(number(init, "ttl_ns"));
        }

        /** Tells the harness that the workers may have lost what they hold. Callable from any thread. */
        public void lost(Object error) {
            workers.keySet().forEach(it -> say("type", "lost", "worker", it, "error", error));
        }
    }

    /** Serves the harness until it hangs up. A definite exception says that nothing has happened; no other does. */
    @SafeVarargs
    public static <G> void serve(Maker<G> maker, Class<? extends Exception>... definite) throws Exception {
        new Picklock(List.of(definite)).listen(maker);
        Runtime.getRuntime().halt(0); // Threads of the lock need not end.
    }

    private final PrintStream out = new PrintStream(new FileOutputStream(FileDescriptor.out), true, StandardCharsets.UTF_8);
    private final Map<Long, ExecutorService> workers = new ConcurrentHashMap<>();
    private final List<Class<? extends Exception>> definite;

    private Picklock(List<Class<? extends Exception>> definite) {
        this.definite = definite;
    }

    private <G> void listen(Maker<G> maker) throws Exception {
        System.setOut(System.err); // Whatever a library prints goes to the log.
        var in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        var grants = new ConcurrentHashMap<String, G>();
        Lock<G> lock = null;
        for (String line; (line = in.readLine()) != null; ) {
            @SuppressWarnings("unchecked") var request = (Map<String, Object>) read(TOKEN.matcher(line));
            if (request.get("op").equals("exit")) {
                return;
            } else if (request.get("op").equals("init")) {
                lock = maker.make(new Run(request));
                say("id", request.get("id"), "type", "ok");
            } else {
                var asked = lock;
                var thread = workers.computeIfAbsent(number(request, "worker"), it -> Executors.newSingleThreadExecutor());
                thread.submit(() -> answer(asked, grants, request));
            }
        }
    }

    private <G> void answer(Lock<G> lock, Map<String, G> grants, Map<String, Object> request) {
        Object id = request.get("id"), worker = number(request, "worker"), token = null;
        var hold = worker + "/" + number(request, "hold");
        var shared = "shared".equals(request.get("mode"));
        try {
            if (request.get("op").equals("release")) {
                lock.release(grants.remove(hold));
            } else if (!request.get("op").equals("touch")) {
                var timeout = Duration.ofNanos(number(request, "acquire_timeout_ns"));
                var grant = request.get("op").equals("convert")
                        ? lock.convert(grants.get(hold), shared)
                        : lock.acquire((String) request.get("key"), timeout, shared);
                if (grant == null) {
                    say("id", id, "worker", worker, "type", "fail", "error", "not granted");
                    return;
                }
                grants.put(hold, grant);
                token = lock.token(grant);
            }
            say("id", id, "worker", worker, "type", "ok", "token", token);
        } catch (Throwable error) {
            var type = definite.stream().anyMatch(it -> it.isInstance(error)) ? "fail" : "info";
            say("id", id, "worker", worker, "type", type, "error", error);
        }
    }

    /** Writes a line: names and values in turn, without those that are null. */
    private synchronized void say(Object... fields) {
        var line = new StringJoiner(",", "{", "}");
        for (int i = 0; i < fields.length; i += 2) {
            if (fields[i + 1] != null) {
                line.add(text(fields[i]) + ":" + (fields[i + 1] instanceof Number ? fields[i + 1] : text(fields[i + 1])));
            }
        }
        out.println(line);
    }

    private static String text(Object value) {
        return '"' + value.toString().replaceAll("[\"\\\\]", "\\\\$0").replaceAll("\\p{Cntrl}", " ") + '"';
    }

    private static long number(Map<String, Object> request, String name) {
        return request.get(name) instanceof Number number ? number.longValue() : 0;
    }

    private static final Pattern TOKEN = Pattern.compile("\"((?:[^\"\\\\]|\\\\.)*)\"|[-+.\\w]+|[\\[\\]{}]");
    private static final Object END = new Object();

    /** Reads a value of JSON, in which the only escapes are those of quotation marks, slashes and backslashes. */
    private static Object read(Matcher tokens) {
        tokens.find();
        var token = tokens.group();
        switch (token.charAt(0)) {
            case '"':
                return tokens.group(1).replaceAll("\\\\(.)", "$1");
            case '{':
                var fields = new HashMap<Object, Object>();
                for (Object name; (name = read(tokens)) != END; ) {
                    fields.put(name, read(tokens));
                }
                return fields;
            case '[':
                var items = new ArrayList<Object>();
                for (Object item; (item = read(tokens)) != END; ) {
                    items.add(item);
                }
                return items;
            case '}', ']':
                return END;
            case 't', 'f', 'n':
                return token.equals("null") ? null : Boolean.valueOf(token);
            default:
                return new BigDecimal(token);
        }
    }
}
