import java.time.Duration;
import java.util.concurrent.TimeUnit;
import org.redisson.Redisson;
import org.redisson.api.RLock;
import org.redisson.api.RedissonClient;
import org.redisson.config.Config;

/**
 * NOT RUN HERE: written from its documentation alone. Redisson's RLock, which belongs to a thread and is renewed by a
 * watchdog.
 *
 * <p>Build it with ../java/Picklock.java. {@code --on redis --promises recovers,reentrant}
 */
public final class RedissonLock implements Picklock.Lock<RLock> {
    private final RedissonClient redisson;

    RedissonLock(Picklock run) {
        var config = new Config();
        config.setLockWatchdogTimeout(run.ttl().toMillis());
        config.useSingleServer().setAddress(System.getenv("REDIS_URL"));
        redisson = Redisson.create(config);
    }

    @Override
    public RLock acquire(String key, Duration timeout, boolean shared) throws Exception {
        RLock lock = redisson.getLock(key);
        return lock.tryLock(timeout.toMillis(), TimeUnit.MILLISECONDS) ? lock : null;
    }

    @Override
    public void release(RLock lock) {
        lock.unlock();
    }

    public static void main(String[] arguments) throws Exception {
        Picklock.serve(RedissonLock::new, IllegalMonitorStateException.class);
    }
}
