"""aioredlock's Lock with its watchdog, over all servers that there are (tried with 0.7.3 on aioredis 1.3.1)."""
import asyncio
import os
import threading
import time
import aioredlock
import picklock


class AioredlockLock:
    def __init__(self, run):
        self.loop = asyncio.new_event_loop()
        threading.Thread(target=self.loop.run_forever, daemon=True).start()
        self.redlock = self.wait_for(self.connected(os.environ["REDIS_URLS"].split(","), run.ttl))

    async def connected(self, urls, ttl):
        return aioredlock.Aioredlock(urls, retry_count=1, internal_lock_timeout=ttl)

    def wait_for(self, coroutine):
        return asyncio.run_coroutine_threadsafe(asyncio.wait_for(coroutine, 2), self.loop).result()

    def acquire(self, key, timeout):
        until = time.monotonic() + timeout
        while True:
            try:
                return self.wait_for(self.redlock.lock(key))
            except aioredlock.LockAcquiringError:
                if time.monotonic() >= until:
                    return None
            time.sleep(0.1)

    def extend(self, lock):
        self.wait_for(lock.extend())
        return lock

    def held(self, lock):
        return lock.valid

    def release(self, lock):
        self.wait_for(lock.release())


picklock.serve(AioredlockLock, definite=(aioredlock.LockAcquiringError,))
