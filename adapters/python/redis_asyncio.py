"""redis-py's asyncio Lock; one loop serves all workers (tried with 8.1.0)."""
import os
import picklock
import redis.asyncio


class RedisAsyncio:
    def __init__(self, run):
        self.redis, self.ttl = redis.asyncio.Redis.from_url(os.environ["REDIS_URL"], socket_timeout=1), run.ttl

    async def acquire(self, key, timeout):
        lock = self.redis.lock(key, timeout=self.ttl, thread_local=False)
        return lock if await lock.acquire(blocking_timeout=timeout) else None

    async def release(self, lock):
        await lock.release()

    async def extend(self, lock):
        await lock.reacquire()
        return lock

    async def held(self, lock):
        return await lock.owned()


picklock.serve(RedisAsyncio, definite=(redis.exceptions.LockError,))
