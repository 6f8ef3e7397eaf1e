"""etcd3's Lock: a key with a lease, over gRPC (tried with 0.12.0 on tenacity 6.1.0 and 9.2.1)."""
import os
import urllib.parse
import etcd3
import picklock


class Etcd3:
    def __init__(self, run):
        server = urllib.parse.urlsplit(os.environ["ETCD_ENDPOINTS"].split(",")[0])
        self.etcd, self.ttl = etcd3.client(server.hostname, server.port, timeout=2), max(1, round(run.ttl))

    def acquire(self, key, timeout):
        lock = self.etcd.lock(key, ttl=self.ttl)
        return lock if lock.acquire(timeout=timeout) else None

    def extend(self, lock):
        return lock if lock.refresh()[0].TTL else None

    def held(self, lock):
        return lock.is_acquired()

    def release(self, lock):
        if not lock.release():
            raise LookupError("the key is not this lock's")


picklock.serve(Etcd3, definite=(LookupError,))
