"""tooz's locks with its heartbeat, on Redis or ZooKeeper (tried with 9.1.0 on redis-py 8.1.0 and kazoo 2.8.0)."""
import os
import picklock
from tooz import coordination


class Tooz:
    def __init__(self, run):
        if "REDIS_URL" in os.environ:
            url = "{}?timeout={ttl}&lock_timeout={ttl}".format(os.environ["REDIS_URL"].rstrip("/"), ttl=round(run.ttl))
        else:
            url = "kazoo://{}?timeout={}".format(os.environ["ZK_CONNECT"], round(run.ttl))
        self.coordinator = coordination.get_coordinator(url, b"client-%d" % run.init["process"])
        self.coordinator.start(start_heart=True)

    def acquire(self, key, timeout):
        lock = self.coordinator.get_lock(key.encode())
        return lock if lock.acquire(blocking=timeout or False) else None

    def release(self, lock):
        if not lock.release():
            raise LookupError("tooz says that it was not released")


picklock.serve(Tooz, definite=(LookupError,))
