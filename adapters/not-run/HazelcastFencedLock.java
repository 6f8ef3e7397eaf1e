import com.hazelcast.client.HazelcastClient;
import com.hazelcast.client.config.ClientConfig;
import com.hazelcast.core.HazelcastInstance;
import com.hazelcast.cp.lock.FencedLock;
import com.hazelcast.cp.lock.exception.LockOwnershipLostException;
import java.time.Duration;
import java.util.concurrent.TimeUnit;

/**
 * NOT RUN HERE: written from its documentation alone. Hazelcast's FencedLock, of its CP subsystem, which belongs to a
 * thread and to a session.
 *
 * <p>Build it with ../java/Picklock.java. picklock starts no members of Hazelcast: start three, whose
 * {@code session-time-to-live-seconds} is the ttl, and give their addresses as {@code HAZELCAST=host:port,host:port}.
 * {@code --on redis --promises fenced,recovers,tells}, under pause-client and crash-client alone: links to members are
 * none of picklock's.
 */
public final class HazelcastFencedLock implements Picklock.Lock<HazelcastFencedLock.Grant> {
    record Grant(FencedLock lock, long token) {}

    private final HazelcastInstance client;

    HazelcastFencedLock(Picklock run) {
        var config = new ClientConfig();
        config.getNetworkConfig().addAddress(System.getenv("HAZELCAST").split(","));
        client = HazelcastClient.newHazelcastClient(config);
    }

    @Override
    public Grant acquire(String key, Duration timeout, boolean shared) {
        var lock = client.getCPSubsystem().getLock(key);
        long token = lock.tryLockAndGetFence(timeout.toMillis(), TimeUnit.MILLISECONDS);
        return token == FencedLock.INVALID_FENCE ? null : new Grant(lock, token);
    }

    @Override
    public boolean held(Grant grant) {
        return grant.lock.isLockedByCurrentThread();
    }

    @Override
    public Long token(Grant grant) {
        return grant.token;
    }

    @Override
    public void release(Grant grant) {
        grant.lock.unlock();
    }

    public static void main(String[] arguments) throws Exception {
        Picklock.serve(HazelcastFencedLock::new, LockOwnershipLostException.class, IllegalMonitorStateException.class);
    }
}
