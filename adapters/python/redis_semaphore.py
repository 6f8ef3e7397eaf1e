"""A semaphore of two permits: a sorted set of them by their deadlines, which the server's clock ends."""
import os
import time
import uuid
import picklock
import redis

TAKE = """
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now)
if redis.call('ZCARD', KEYS[1]) + #ARGV - 1 > 2 then return 0 end
for place = 2, #ARGV do redis.call('ZADD', KEYS[1], now + ARGV[1], ARGV[place]) end
return 1
"""


class Semaphore:
    def __init__(self, run):
        self.redis = redis.Redis.from_url(os.environ["REDIS_URL"], socket_timeout=1)
        self.take, self.ttl = self.redis.register_script(TAKE), int(run.ttl * 1000)

    def acquire(self, key, timeout, permits):
        taken, until = [uuid.uuid4().hex for _ in range(permits)], time.monotonic() + timeout
        while not self.take([key], [self.ttl, *taken]):
            if time.monotonic() >= until:
                return None
            time.sleep(0.05)
        return key, *taken

    def release(self, grant):
        if not self.redis.zrem(*grant):
            raise LookupError("the permits had run out")


picklock.serve(Semaphore, definite=(LookupError,))
