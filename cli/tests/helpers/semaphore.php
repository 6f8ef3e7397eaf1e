<?php
/** A semaphore of three permits, for one worker. */
require __DIR__ . '/picklock.php';

final class Semaphore
{
    private int $free = 3;

    public function acquire(string $key, float $timeout, bool $shared, int $permits): ?int
    {
        if ($permits > $this->free) {
            return null;
        }
        $this->free -= $permits;
        return $permits;
    }

    public function release(int $permits): void
    {
        $this->free += $permits;
    }
}

Picklock::serve(fn () => new Semaphore());
