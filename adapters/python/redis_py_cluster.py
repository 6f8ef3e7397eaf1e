"""redis-py's Lock on a Redis Cluster (tried with 8.1.0)."""
import os
import picklock
import redis
from redis_py import RedisPy


class RedisPyCluster(RedisPy):
    def __init__(self, run):
        self.redis = connected(os.environ["REDIS_URL"])
        self.ttl = run.ttl


def connected(url):
    """Asks for the members until one answers, as it does too late where the machine is busy: picklock waits."""
    while True:
        try:
            return redis.RedisCluster.from_url(url, socket_timeout=1)
        except redis.exceptions.RedisClusterException:
            pass


if __name__ == "__main__":
    picklock.serve(RedisPyCluster, definite=(redis.exceptions.LockError,))
