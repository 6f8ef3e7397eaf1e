"""huey's lock_task (tried with 3.5.4 on redis-py 8.1.0). EXPIRE=none: that of a plain RedisHuey, without a ttl."""
import os
import time
import huey
import picklock


class HueyLock:
    def __init__(self, run):
        expires = os.environ.get("EXPIRE") != "none"
        kind = huey.RedisExpireHuey if expires else huey.RedisHuey
        self.huey = kind("picklock", url=os.environ["REDIS_URL"])
        self.ttl = max(1, round(run.ttl)) if expires else None

    def acquire(self, key, timeout):
        lock, until = self.huey.lock_task(key, self.ttl), time.monotonic() + timeout
        while True:
            try:
                lock.acquire()
                return lock
            except huey.exceptions.TaskLockedException:
                if time.monotonic() >= until:
                    return None
                time.sleep(0.05)

    def release(self, lock):
        lock.release()


picklock.serve(HueyLock)
