"""redis-py's Lock (tried with 4.3.4, 5.0.8 and 8.1.0)."""
import os
import picklock
import redis


class RedisPy:
    def __init__(self, run):
        self.redis = redis.Redis.from_url(os.environ["REDIS_URL"], socket_timeout=1)
        self.ttl = run.ttl

    def acquire(self, key, timeout):
        lock = self.redis.lock(key, timeout=self.ttl)
        return lock if lock.acquire(blocking_timeout=timeout) else None

    def extend(self, lock):
        lock.reacquire()
        return lock

    def held(self, lock):
        return lock.owned()

    def release(self, lock):
        lock.release()


if __name__ == "__main__":
    picklock.serve(RedisPy, definite=(redis.exceptions.LockError,))
