import java.time.Duration;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.apache.zookeeper.Watcher.Event.KeeperState;
import org.apache.zookeeper.ZooKeeper;
import org.apache.zookeeper.recipes.lock.LockListener;
import org.apache.zookeeper.recipes.lock.WriteLock;

/**
 * The WriteLock that comes with ZooKeeper (tried with 3.8.0). A session that has ended is replaced
 * by a new one. With {@code AFTER_ERROR=go on}, an acquire that it cannot take back counts as not
 * granted.
 */
public final class ZooKeeperWriteLock implements Picklock.Lock<WriteLock> {
    private final boolean goesOn = "go on".equals(System.getenv("AFTER_ERROR"));
    private final Picklock run;
    private ZooKeeper session;

    ZooKeeperWriteLock(Picklock run) throws Exception {
        this.run = run;
        connected();
    }

    private synchronized ZooKeeper connected() throws Exception {
        if (session == null || !session.getState().isAlive()) {
            var connected = new CountDownLatch(1);
            session = new ZooKeeper(System.getenv("ZK_CONNECT"), (int) run.ttl().toMillis(), event -> {
                if (event.getState() == KeeperState.SyncConnected) {
                    connected.countDown();
                } else {
                    run.lost(event.getState());
                }
            });
            connected.await();
        }
        return session;
    }

    @Override
    public WriteLock acquire(String key, Duration timeout, boolean shared) throws Exception {
        var granted = new CountDownLatch(1);
        var lock = new WriteLock(connected(), "/" + key, null, new LockListener() {
            public void lockAcquired() {
                granted.countDown();
            }

            public void lockReleased() {}
        });
        lock.lock();
        if (granted.await(timeout.toNanos(), TimeUnit.NANOSECONDS)) {
            return lock;
        }
        try {
            release(lock);
        } catch (IllegalArgumentException error) {
            if (!goesOn) {
                throw error;
            }
        }
        return null;
    }

    /** It does not ask: it says so of a session that has ended, too. */
    @Override
    public boolean held(WriteLock lock) {
        return lock.isOwner();
    }

    @Override
    public void release(WriteLock lock) {
        lock.unlock();
        lock.close(); // Or else a watch of its may take the lock once more.
    }

    public static void main(String[] arguments) throws Exception {
        Picklock.serve(ZooKeeperWriteLock::new);
    }
}
