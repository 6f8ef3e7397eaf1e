"""redis-py's Lock, on a client that sends a command again after its connection broke (tried with 8.1.0)."""
import picklock
import redis


class RedisPy:
    def __init__(self, run):
        host, port = run.servers[0].split(":")
        self.redis = redis.Redis(host=host, port=int(port), socket_timeout=1)
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


picklock.serve(RedisPy, definite=(redis.exceptions.LockError,))
