"""redis-py's Lock on the primary that Sentinels name (tried with 8.1.0)."""
import os
import picklock
import redis
from redis.sentinel import Sentinel
from redis_py import RedisPy


class RedisPySentinel(RedisPy):
    def __init__(self, run):
        sentinels = [address.split(":") for address in os.environ["REDIS_SENTINELS"].split(",")]
        # Each connection of the primary begins with the question which server that is.
        self.redis = Sentinel(sentinels, socket_timeout=1).master_for(os.environ["REDIS_SENTINEL_MASTER"])
        self.ttl = run.ttl


if __name__ == "__main__":
    picklock.serve(RedisPySentinel, definite=(redis.exceptions.LockError,))
