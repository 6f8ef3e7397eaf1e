"""pottery's Redlock, over all servers that there are (tried with 3.0.1 on redis-py 8.1.0)."""
import os
import picklock
import pottery
import redis


class Pottery:
    def __init__(self, run):
        urls = os.environ["REDIS_URLS"].split(",")
        self.masters, self.ttl = {redis.Redis.from_url(url, socket_timeout=0.5) for url in urls}, run.ttl

    def acquire(self, key, timeout):
        lock = pottery.Redlock(key=key, masters=self.masters, auto_release_time=self.ttl)
        granted = lock.acquire(timeout=timeout) if timeout else lock.acquire(blocking=False)
        return lock if granted else None

    def extend(self, lock):
        lock.extend()
        return lock

    def held(self, lock):
        return lock.locked() > 0

    def release(self, lock):
        lock.release()


picklock.serve(Pottery, definite=(pottery.ReleaseUnlockedLock, pottery.ExtendUnlockedLock, pottery.TooManyExtensions))
