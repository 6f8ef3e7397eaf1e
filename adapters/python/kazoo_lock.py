"""kazoo's Lock on ZooKeeper (tried with 2.8.0 and 2.11.0)."""
import os
import picklock
from kazoo.client import KazooClient, KazooState
from kazoo.exceptions import LockTimeout


class Kazoo:
    def __init__(self, run):
        self.client = KazooClient(os.environ["ZK_CONNECT"], timeout=run.ttl)
        self.client.add_listener(lambda state: state != KazooState.CONNECTED and run.lost(state))
        self.client.start(timeout=30)

    def acquire(self, key, timeout):
        lock = self.client.Lock("/" + key)
        try:
            return lock if lock.acquire(timeout=timeout) else None
        except LockTimeout:
            return None

    def held(self, lock):
        return lock.is_acquired  # It does not ask.

    def release(self, lock):
        if not lock.release():
            raise RuntimeError("kazoo says that it was not released")


picklock.serve(Kazoo)
