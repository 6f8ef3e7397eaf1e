"""etcd3gw's Lock, a key with a lease, through etcd's HTTP gateway (tried with 2.7.0)."""
import os
import time
import urllib.parse
import picklock
from etcd3gw.client import Etcd3Client


class Etcd3gw:
    def __init__(self, run):
        server = urllib.parse.urlsplit(os.environ["ETCD_ENDPOINTS"].split(",")[0])
        self.etcd = Etcd3Client(server.hostname, server.port, timeout=5)
        self.ttl = max(1, round(run.ttl))

    def acquire(self, key, timeout):
        lock, until = self.etcd.lock(key, self.ttl), time.monotonic() + timeout
        while not lock.acquire():
            if time.monotonic() >= until:
                return None
            time.sleep(0.25)
        return lock

    def extend(self, lock):
        return lock if lock.refresh() > 0 else None

    def held(self, lock):
        return lock.is_acquired()

    def release(self, lock):
        if not lock.release():
            raise LookupError("the key is not this lock's")


picklock.serve(Etcd3gw, definite=(LookupError,))
