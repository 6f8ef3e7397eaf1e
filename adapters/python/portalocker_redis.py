"""portalocker's RedisLock: held by a subscription, not by a key (tried with 4.4.2 on redis-py 8.1.0).

With SELF_CHECK=0.5 it asks the server every half second whether it still holds the lock.
"""
import os
import picklock
import portalocker
import redis


class Portalocker:
    def __init__(self, run):
        self.redis = redis.Redis.from_url(os.environ["REDIS_URL"], decode_responses=True, health_check_interval=1)
        self.run, self.self_check = run, float(os.environ.get("SELF_CHECK", 0)) or None

    def acquire(self, key, timeout):
        lost = lambda lock: self.run.lost("the subscription has ended")
        lock = portalocker.RedisLock(
            key, self.redis, timeout=timeout, fencing=True, on_lost=lost, interrupt_on_lost=False,
            self_check_interval=self.self_check,
        )
        try:
            lock.acquire(fail_when_locked=not timeout)
        except portalocker.AlreadyLocked:
            return None
        lock.fencing_token = lock.fence_token
        return lock

    def held(self, lock):
        return not lock.lost

    def release(self, lock):
        lock.release()


picklock.serve(Portalocker)
