"""redis-py's Lock without a ttl, released again when the connection broke (tried with 8.1.0)."""
import os
import time
import picklock
import redis


class Again:
    def __init__(self, run):
        self.redis = redis.Redis.from_url(os.environ["REDIS_URL"], socket_timeout=1)

    def acquire(self, key, timeout):
        lock = self.redis.lock(key)
        return lock if lock.acquire(blocking_timeout=timeout) else None

    def held(self, lock):
        return lock.owned()

    def release(self, lock):
        while True:
            try:
                return lock.release()
            except (redis.exceptions.ConnectionError, redis.exceptions.TimeoutError):
                time.sleep(0.2)


picklock.serve(Again, definite=(redis.exceptions.LockError,))
