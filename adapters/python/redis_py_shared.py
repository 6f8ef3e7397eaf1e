"""One Lock of redis-py for all threads, with `thread_local=False` (tried with 8.1.0)."""
import os
import picklock
import redis


class Shared:
    def __init__(self, run):
        self.redis, self.ttl, self.locks = redis.Redis.from_url(os.environ["REDIS_URL"], socket_timeout=1), run.ttl, {}

    def acquire(self, key, timeout):
        lock = self.locks.setdefault(key, self.redis.lock(key, timeout=self.ttl, thread_local=False))
        return lock if lock.acquire(blocking_timeout=timeout) else None

    def extend(self, lock):
        lock.reacquire()
        return lock

    def held(self, lock):
        return lock.owned()

    def release(self, lock):
        lock.release()


picklock.serve(Shared, definite=(redis.exceptions.LockError,))
