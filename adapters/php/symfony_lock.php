<?php
/** Symfony's Lock with its RedisStore (tried with 5.4.53 on phpredis 5.3.7). */
require __DIR__ . '/picklock.php';
require 'Symfony/Component/Lock/autoload.php'; // Debian's. Composer's: vendor/autoload.php

use Symfony\Component\Lock\Exception\LockConflictedException;
use Symfony\Component\Lock\Exception\LockExpiredException;
use Symfony\Component\Lock\LockFactory;
use Symfony\Component\Lock\LockInterface;
use Symfony\Component\Lock\Store\RedisStore;

final class SymfonyLock
{
    private LockFactory $factory;

    public function __construct(private Picklock $run)
    {
        [$host, $port] = explode(':', $run->servers[0]);
        $redis = new Redis();
        while (!$redis->isConnected()) {
            try {
                $redis->connect($host, (int) $port, 1.0, null, 0, 1.0);
            } catch (RedisException) {
                usleep(100_000); // The server may be down while this client begins.
            }
        }
        $this->factory = new LockFactory(new RedisStore($redis, $run->ttl));
    }

    public function acquire(string $key, float $timeout, bool $shared): ?LockInterface
    {
        $lock = $this->factory->createLock($key, $this->run->ttl, autoRelease: false);
        $ask = fn () => $shared ? $lock->acquireRead() : $lock->acquire();
        // Its own way to wait, `acquire(true)`, asks every 100 ms, too, but for ever.
        return Picklock::untilTimeout($timeout, $ask, 0.1) ? $lock : null;
    }

    public function extend(LockInterface $lock): LockInterface
    {
        $lock->refresh();
        return $lock;
    }

    public function held(LockInterface $lock): bool
    {
        return $lock->isAcquired();
    }

    public function release(LockInterface $lock): void
    {
        $lock->release();
    }
}

$definite = [LockConflictedException::class, LockExpiredException::class];
Picklock::serve(fn (Picklock $run) => new SymfonyLock($run), ...$definite);
