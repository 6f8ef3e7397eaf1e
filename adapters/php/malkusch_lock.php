<?php
/**
 * malkusch/lock's PHPRedisMutex, over all servers that there are (tried with 2.2.1 on phpredis 5.3.7). It knows a hold
 * only as a function that it calls meanwhile: here, one that waits for the release, in a fiber of its own.
 */
require __DIR__ . '/picklock.php';
require 'Malkusch/Lock/autoload.php'; // Debian's. Composer's: vendor/autoload.php

use malkusch\lock\exception\LockReleaseException;
use malkusch\lock\exception\TimeoutException;
use malkusch\lock\mutex\PHPRedisMutex;

final class MalkuschLock
{
    private array $servers;

    /** Its `timeout` is the longest wait and the longest hold; the key stands for a second more. */
    private int $timeout;

    public function __construct(Picklock $run)
    {
        $this->servers = array_map([$this, 'connected'], $run->servers);
        $this->timeout = max(1, (int) round($run->ttl) - 1);
    }

    private function connected(string $server): Redis
    {
        [$host, $port] = explode(':', $server);
        $redis = new Redis();
        while (!$redis->isConnected()) {
            try {
                $redis->connect($host, (int) $port, 1.0, null, 0, 1.0);
            } catch (RedisException) {
                usleep(100_000); // The server may be down while this client begins.
            }
        }
        return $redis;
    }

    /** Waits for its `timeout`, whatever the harness would have: no try is shorter. */
    public function acquire(string $key): ?Fiber
    {
        $mutex = new PHPRedisMutex($this->servers, $key, $this->timeout);
        $hold = new Fiber(fn () => $mutex->synchronized(fn () => Fiber::suspend()));
        try {
            $hold->start();
            return $hold;
        } catch (TimeoutException) {
            return null;
        }
    }

    public function release(Fiber $hold): void
    {
        $hold->resume();
    }
}

Picklock::serve(fn (Picklock $run) => new MalkuschLock($run), LockReleaseException::class);
