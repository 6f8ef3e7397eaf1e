"""redis-py's asyncio Lock; one loop serves all workers (tried with 8.1.0)."""
import asyncio
import os
import threading
import picklock
import redis.asyncio


class RedisAsyncio:
    def __init__(self, run):
        self.loop, self.ttl = asyncio.new_event_loop(), run.ttl
        threading.Thread(target=self.loop.run_forever, daemon=True).start()
        self.redis = redis.asyncio.Redis.from_url(os.environ["REDIS_URL"], socket_timeout=1)

    def wait_for(self, coroutine):
        return asyncio.run_coroutine_threadsafe(coroutine, self.loop).result()

    def acquire(self, key, timeout):
        lock = self.redis.lock(key, timeout=self.ttl, thread_local=False)
        return lock if self.wait_for(lock.acquire(blocking_timeout=timeout)) else None

    def release(self, lock):
        self.wait_for(lock.release())


picklock.serve(RedisAsyncio, definite=(redis.exceptions.LockError,))
