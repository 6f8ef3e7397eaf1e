import java.time.Duration;

/** A semaphore of three permits, for one worker. */
public final class Semaphore implements Picklock.Lock<Integer> {
    private int free = 3;

    @Override
    public Integer acquire(String key, Duration timeout, boolean shared) {
        return acquirePermits(key, timeout, 1);
    }

    @Override
    public Integer acquirePermits(String key, Duration timeout, int permits) {
        if (permits > free) {
            return null;
        }
        free -= permits;
        return permits;
    }

    @Override
    public void release(Integer permits) {
        free += permits;
    }

    public static void main(String[] arguments) throws Exception {
        Picklock.serve(run -> new Semaphore());
    }
}
