"""redis-py's Lock on a Redis Cluster (tried with 8.1.0)."""
import os
import picklock
import redis
from redis_py import RedisPy


class RedisPyCluster(RedisPy):
    def __init__(self, run):
        self.redis = redis.RedisCluster.from_url(os.environ["REDIS_URL"], socket_timeout=1)
        self.ttl = run.ttl


if __name__ == "__main__":
    picklock.serve(RedisPyCluster, definite=(redis.exceptions.LockError,))
