"""python-redis-lock's Lock, which a thread of its own renews (tried with 4.0.1 on redis-py 8.1.0)."""
import time
import picklock
import redis
import redis_lock


class PythonRedisLock:
    def __init__(self, run):
        host, port = run.servers[0].split(":")
        # Made so, it sends a command again whose connection broke.
        self.redis = redis.StrictRedis(host=host, port=int(port), socket_timeout=2)
        self.ttl = max(1, round(run.ttl))

    def acquire(self, key, timeout):
        lock, until = redis_lock.Lock(self.redis, key, expire=self.ttl, auto_renewal=True), time.monotonic() + timeout
        wait = {"timeout": 1} if timeout else {"blocking": False}  # It counts in whole seconds.
        while not lock.acquire(**wait):
            if time.monotonic() >= until:
                return None
        return lock

    def extend(self, lock):
        lock.extend()
        return lock

    def held(self, lock):
        return lock.get_owner_id() == lock.id

    def release(self, lock):
        lock.release()


picklock.serve(PythonRedisLock, definite=(redis_lock.NotAcquired,))
