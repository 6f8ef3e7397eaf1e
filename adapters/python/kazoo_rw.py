"""kazoo's read and write locks (tried with 2.8.0)."""
import os
import picklock
from kazoo.client import KazooClient, KazooState
from kazoo.exceptions import LockTimeout


class KazooReadWrite:
    def __init__(self, run):
        self.client = KazooClient(os.environ["ZK_CONNECT"], timeout=run.ttl)
        self.client.add_listener(lambda state: state != KazooState.CONNECTED and run.lost(state))
        self.client.start(timeout=30)

    def acquire(self, key, timeout, shared):
        lock = self.client.ReadLock("/" + key) if shared else self.client.WriteLock("/" + key)
        try:
            return lock if lock.acquire(timeout=timeout) else None
        except LockTimeout:
            return None

    def held(self, lock):
        return lock.is_acquired  # It does not ask.

    def release(self, lock):
        if not lock.release():
            raise RuntimeError("kazoo says that it was not released")


picklock.serve(KazooReadWrite)
