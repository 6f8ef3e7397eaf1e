"""A semaphore of two permits: a sorted set of holders by their deadlines, which the server's clock ends."""
import os
import time
import uuid
import picklock
import redis

TAKE = """
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now)
if redis.call('ZCARD', KEYS[1]) < 2 then return redis.call('ZADD', KEYS[1], now + ARGV[2], ARGV[1]) end
return 0
"""


class Semaphore:
    def __init__(self, run):
        self.redis = redis.Redis.from_url(os.environ["REDIS_URL"], socket_timeout=1)
        self.take, self.ttl = self.redis.register_script(TAKE), int(run.ttl * 1000)

    def acquire(self, key, timeout):
        holder, until = uuid.uuid4().hex, time.monotonic() + timeout
        while not self.take([key], [holder, self.ttl]):
            if time.monotonic() >= until:
                return None
            time.sleep(0.05)
        return key, holder

    def release(self, grant):
        if not self.redis.zrem(*grant):
            raise LookupError("the permit had run out")


picklock.serve(Semaphore, definite=(LookupError,))
