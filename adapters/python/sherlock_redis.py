"""sherlock's RedisLock (tried with 0.4.1 on redis-py 8.1.0). EXPIRE=none: a lock that is not to run out."""
import os
import picklock
import redis
import sherlock


class Sherlock:
    def __init__(self, run):
        host, port = run.servers[0].split(":")
        # Made so, it sends a command again whose connection broke.
        self.redis = redis.StrictRedis(host=host, port=int(port), socket_timeout=1)
        self.ttl = None if os.environ.get("EXPIRE") == "none" else max(1, round(run.ttl))

    def acquire(self, key, timeout):
        lock = sherlock.RedisLock(key, client=self.redis, expire=self.ttl, timeout=timeout, retry_interval=0.1)
        try:
            return lock if lock.acquire(blocking=timeout > 0) else None
        except sherlock.LockTimeoutException:
            return None

    def extend(self, lock):
        return lock if lock.renew() else None

    def release(self, lock):
        lock.release()


picklock.serve(Sherlock, definite=(sherlock.LockException,))
