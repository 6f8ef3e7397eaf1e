"""redlock-py's Redlock, over all servers that there are (tried with 1.0.8 on redis-py 8.1.0)."""
import os
import time
import picklock
import redis
import redlock


class RedlockPy:
    def __init__(self, run):
        servers = [redis.Redis.from_url(url, socket_timeout=0.5) for url in os.environ["REDIS_URLS"].split(",")]
        self.redlock, self.ttl = redlock.Redlock(servers, retry_count=1, retry_delay=0.05), int(run.ttl * 1000)

    def acquire(self, key, timeout):
        until = time.monotonic() + timeout
        while True:
            try:
                lock = self.redlock.lock(key, self.ttl)
                if lock:
                    return lock, time.monotonic() + lock.validity / 1000
                if time.monotonic() >= until:
                    return None
            except redlock.MultipleRedlockException:
                if time.monotonic() >= until:
                    raise
                time.sleep(0.05)

    def held(self, grant):
        return time.monotonic() < grant[1]  # All that it tells is for how long.

    def release(self, grant):
        self.redlock.unlock(grant[0])  # It says nothing, whatever became of it.


picklock.serve(RedlockPy)
