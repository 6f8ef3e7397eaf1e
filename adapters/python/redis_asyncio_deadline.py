"""redis-py's asyncio Lock without a ttl, whose release has a deadline (tried with 5.0.8 and 8.1.0).

It is tried again when it was cancelled or its connection broke.
"""
import asyncio
import os
import threading
import picklock
import redis.asyncio


class Deadline:
    def __init__(self, run):
        self.loop = asyncio.new_event_loop()
        threading.Thread(target=self.loop.run_forever, daemon=True).start()
        self.redis = redis.asyncio.Redis.from_url(os.environ["REDIS_URL"])

    def wait_for(self, coroutine):
        return asyncio.run_coroutine_threadsafe(coroutine, self.loop).result()

    def acquire(self, key, timeout):
        lock = self.redis.lock(key, thread_local=False)
        return lock if self.wait_for(lock.acquire(blocking_timeout=timeout)) else None

    def held(self, lock):
        return self.wait_for(lock.owned())

    def release(self, lock):
        self.wait_for(self.released(lock))

    async def released(self, lock):
        while True:
            try:
                return await asyncio.wait_for(lock.release(), 0.5)
            except (asyncio.TimeoutError, redis.exceptions.ConnectionError):
                await asyncio.sleep(0.2)


picklock.serve(Deadline, definite=(redis.exceptions.LockError,))
