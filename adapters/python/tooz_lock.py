"""tooz's locks, with its heartbeat where the store lets them run out.

Tried with 9.1.0 on redis-py 8.1.0, kazoo 2.8.0, pymemcache 3.5.2, etcd3gw 2.7.0, psycopg2 2.9.5 and PyMySQL 1.2.4.
"""
import os
import time
import picklock
import tenacity
from tooz import coordination


def url(ttl):
    """Returns the URL of the store that the harness has given, with a time to live in seconds."""
    limits = "?timeout={0}&lock_timeout={0}".format(max(1, round(ttl)))
    if "REDIS_URL" in os.environ:
        return os.environ["REDIS_URL"].rstrip("/") + limits
    if "ZK_CONNECT" in os.environ:
        return "kazoo://" + os.environ["ZK_CONNECT"] + limits
    if "MEMCACHED_SERVERS" in os.environ:
        return "memcached://" + os.environ["MEMCACHED_SERVERS"] + limits
    if "ETCD_ENDPOINTS" in os.environ:
        return "etcd3+" + os.environ["ETCD_ENDPOINTS"].split(",")[0] + limits
    if "SERVER" in os.environ:
        return "mysql://root@" + os.environ["SERVER"] + "/information_schema"
    return os.environ["DATABASE_URL"]


def started(url, member):
    """Returns a coordinator, for which it tries again while servers are down."""
    while True:
        coordinator = coordination.get_coordinator(url, member)
        try:
            coordinator.start(start_heart=coordinator.requires_beating)
            return coordinator
        except Exception as error:
            print(repr(error))
            time.sleep(0.2)


class Tooz:
    def __init__(self, run):
        self.coordinator = started(url(run.ttl), b"client-%d" % run.init["process"])

    def acquire(self, key, timeout):
        lock = self.coordinator.get_lock(key.encode())
        try:
            return lock if lock.acquire(blocking=timeout or False) else None
        except tenacity.RetryError:
            return None

    def held(self, lock):
        return lock.acquired

    def release(self, lock):
        if not lock.release():
            raise LookupError("tooz says that it was not released")


picklock.serve(Tooz, definite=(LookupError,))
