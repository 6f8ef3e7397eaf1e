import java.time.Duration;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.recipes.locks.InterProcessMutex;
import org.apache.curator.framework.recipes.locks.InterProcessReadWriteLock;

/** Apache Curator's InterProcessReadWriteLock (tried with 5.4.0). Its writer becomes a reader as its manual says. */
public final class CuratorReadWrite implements Picklock.Lock<CuratorReadWrite.Grant> {
    record Grant(InterProcessReadWriteLock lock, InterProcessMutex part) {}

    private final CuratorFramework client;
    private final Map<String, InterProcessReadWriteLock> locks = new ConcurrentHashMap<>();

    CuratorReadWrite(Picklock run) throws Exception {
        client = CuratorMutex.connect(run);
    }

    @Override
    public Grant acquire(String key, Duration timeout, boolean shared) throws Exception {
        var lock = locks.computeIfAbsent("/" + key, path -> new InterProcessReadWriteLock(client, path));
        InterProcessMutex part = shared ? lock.readLock() : lock.writeLock();
        return part.acquire(timeout.toNanos(), TimeUnit.NANOSECONDS) ? new Grant(lock, part) : null;
    }

    @Override
    public Grant convert(Grant grant, boolean shared) throws Exception {
        InterProcessMutex reader = grant.lock.readLock();
        reader.acquire();
        grant.part.release();
        return new Grant(grant.lock, reader);
    }

    @Override
    public void release(Grant grant) throws Exception {
        grant.part.release();
    }

    public static void main(String[] arguments) throws Exception {
        Picklock.serve(CuratorReadWrite::new, IllegalMonitorStateException.class);
    }
}
