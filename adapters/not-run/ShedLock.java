import java.net.URI;
import java.time.Duration;
import java.time.Instant;
import net.javacrumbs.shedlock.core.LockConfiguration;
import net.javacrumbs.shedlock.core.LockProvider;
import net.javacrumbs.shedlock.core.SimpleLock;
import net.javacrumbs.shedlock.provider.redis.jedis4.JedisLockProvider;
import redis.clients.jedis.JedisPool;

/**
 * NOT RUN HERE: written from its documentation alone. ShedLock, with its provider for Jedis 4.
 *
 * <p>Build it with ../java/Picklock.java. {@code --on redis --promises recovers}
 */
public final class ShedLock implements Picklock.Lock<SimpleLock> {
    private final LockProvider provider = new JedisLockProvider(new JedisPool(URI.create(System.getenv("REDIS_URL"))));
    private final Duration ttl;

    ShedLock(Picklock run) {
        ttl = run.ttl();
    }

    @Override
    public SimpleLock acquire(String key, Duration timeout, boolean shared) throws Exception {
        for (long until = System.nanoTime() + timeout.toNanos(); ; Thread.sleep(50)) {
            var lock = provider.lock(new LockConfiguration(Instant.now(), key, ttl, Duration.ZERO));
            if (lock.isPresent() || System.nanoTime() >= until) {
                return lock.orElse(null); // It does not wait by itself.
            }
        }
    }

    @Override
    public void release(SimpleLock lock) {
        lock.unlock();
    }

    public static void main(String[] arguments) throws Exception {
        Picklock.serve(ShedLock::new);
    }
}
