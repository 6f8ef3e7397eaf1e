"""A lock of `add` and `delete` on memcached, by pymemcache (tried with 3.5.2): what many recipes show."""
import os
import time
import picklock
from pymemcache.client.base import Client


class Add:
    def __init__(self, run):
        host, port = os.environ["MEMCACHED_SERVERS"].split(":")
        self.client = Client((host, int(port)), timeout=1, connect_timeout=1)
        self.ttl = max(1, round(run.ttl))

    def acquire(self, key, timeout):
        until = time.monotonic() + timeout
        while not self.client.add(key, b"1", expire=self.ttl, noreply=False):
            if time.monotonic() >= until:
                return None
            time.sleep(0.05)
        return key

    def release(self, key):
        self.client.delete(key, noreply=False)


picklock.serve(Add)
