import java.time.Duration;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.framework.recipes.locks.InterProcessMutex;
import org.apache.curator.framework.state.ConnectionState;
import org.apache.curator.retry.ExponentialBackoffRetry;

/** Apache Curator's InterProcessMutex (tried with 5.4.0), which belongs to a thread and counts how often it is held. */
public final class CuratorMutex implements Picklock.Lock<InterProcessMutex> {
    private final CuratorFramework client;
    private final Map<String, InterProcessMutex> locks = new ConcurrentHashMap<>();

    CuratorMutex(Picklock run) throws Exception {
        client = connect(run);
    }

    /**
     * Connects, and tells of every moment from which another client may hold the lock. With
     * STOP_AT=LOST such a moment is a doubt, and the lock is lost at the end of the session, which
     * Curator may learn later than the next holder.
     */
    static CuratorFramework connect(Picklock run) throws Exception {
        int ttl = (int) run.ttl().toMillis();
        var retries = new ExponentialBackoffRetry(100, 3);
        var client = CuratorFrameworkFactory.newClient(System.getenv("ZK_CONNECT"), ttl, ttl, retries);
        var late = "LOST".equals(System.getenv("STOP_AT"));
        client.getConnectionStateListenable().addListener((it, state) -> {
            if (late && state == ConnectionState.SUSPENDED) {
                run.doubt(state);
            } else if (!state.isConnected()) {
                run.lost(state);
            }
        });
        client.start();
        client.blockUntilConnected();
        return client;
    }

    @Override
    public InterProcessMutex acquire(String key, Duration timeout, boolean shared) throws Exception {
        var lock = locks.computeIfAbsent("/" + key, path -> new InterProcessMutex(client, path));
        return lock.acquire(timeout.toNanos(), TimeUnit.NANOSECONDS) ? lock : null;
    }

    /** It does not ask: it says so of a session that has ended, too. */
    @Override
    public boolean held(InterProcessMutex lock) {
        return lock.isOwnedByCurrentThread();
    }

    @Override
    public void release(InterProcessMutex lock) throws Exception {
        lock.release();
    }

    public static void main(String[] arguments) throws Exception {
        Picklock.serve(CuratorMutex::new, IllegalMonitorStateException.class);
    }
}
