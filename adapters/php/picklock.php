<?php
/**
 * A lock client of picklock in PHP: one file, without dependencies. A lock that deletes whatever stands there:
 *
 *     require 'picklock.php';
 *
 *     Picklock::serve(function (Picklock $run) {
 *         $redis = new Redis();
 *         $redis->connect(...explode(':', $run->servers[0]));
 *         return new class($redis, $run->ttl) {
 *             public function __construct(private Redis $redis, private float $ttl) {}
 *
 *             public function acquire(string $key, float $timeout): ?string
 *             {
 *                 $options = ['nx', 'px' => (int) ($this->ttl * 1000)];
 *                 $set = fn () => $this->redis->set($key, 'mine', $options);
 *                 return Picklock::untilTimeout($timeout, $set) ? $key : null;
 *             }
 *
 *             public function release(string $key): void
 *             {
 *                 $this->redis->del($key);
 *             }
 *         };
 *     });
 *
 * It serves one worker, since PHP has no threads. Times are in seconds. `acquire` returns the
 * grant, which may be anything but null and false: those are "not granted". A grant with a property
 * `fencingToken`, a whole number, is fenced. A lock that readers share takes a third argument,
 * `shared`; a semaphore of which an acquire can take several permits, all or none, takes a fourth,
 * `permits`; one whose writers become readers has `convert($grant, $shared)`, which returns the new
 * grant; one that can be given more time has `extend($grant)`, which returns the grant, or null if
 * it is over; `held($grant)` says whether the lock still claims it. An exception of one of the
 * classes that are given to `serve` says that nothing has happened; after any other nobody knows.
 */

// Warnings, and whatever a library prints, go to the log: from here on, so require this file first.
ini_set('display_errors', 'stderr');
ob_start(function (string $text): string {
    fwrite(STDERR, $text);
    return '';
}, 1);

final class Picklock
{
    private const NOT_HELD = ['type' => 'fail', 'code' => 'not-held', 'error' => 'not held'];

    /** A run, as the harness tells of it: `ttl` in seconds, `servers` as host:port, and all else in `init`. */
    private function __construct(
        public readonly array $init,
        public readonly float $ttl,
        public readonly array $servers,
    ) {
    }

    /** Tells the harness that the worker may have lost what it holds: while a call of the lock is under way. */
    public function lost(string $error): void
    {
        self::say(['type' => 'lost', 'worker' => 0, 'level' => 'lost', 'error' => $error]);
    }

    /** The same of a loss that is in doubt, and in spite of which the program goes on. */
    public function doubt(string $error): void
    {
        self::say(['type' => 'lost', 'worker' => 0, 'level' => 'doubt', 'error' => $error]);
    }

    /** Asks until there is a grant; for a timeout of 0 once. */
    public static function untilTimeout(float $timeout, callable $ask, float $pause = 0.05): mixed
    {
        $until = hrtime(true) + $timeout * 1e9;
        while (!($grant = $ask()) && hrtime(true) < $until) {
            usleep((int) ($pause * 1e6));
        }
        return $grant;
    }

    /** Serves the harness until it says `exit` or hangs up. `make($run)` makes the lock. */
    public static function serve(callable $make, string ...$definite): void
    {
        $lock = null;
        $grants = [];
        while (($line = fgets(STDIN)) !== false) {
            $request = json_decode($line, true, flags: JSON_THROW_ON_ERROR);
            if ($request['op'] === 'exit') {
                return;
            }
            $answer = ['id' => $request['id'], 'type' => 'ok'];
            if ($request['op'] === 'init') {
                try {
                    $lock = $make(new self($request, $request['ttl_ns'] / 1e9, $request['servers']));
                } catch (Throwable $error) {
                    // Its message comes last: the harness shows the last words.
                    fwrite(STDERR, "$error\n" . $error->getMessage() . "\n");
                    exit(1);
                }
                $answer += ['version' => 1, 'can' => self::abilities($lock)];
            } else {
                try {
                    $answer = self::answer($lock, $grants, $request) + $answer;
                } catch (Throwable $error) {
                    $fail = array_filter($definite, fn (string $it) => $error instanceof $it);
                    $answer['type'] = $fail ? 'fail' : 'info'; // After any other, nobody knows what has happened.
                    $answer['error'] = $error::class . ': ' . $error->getMessage();
                }
            }
            self::say($answer + ['worker' => $request['worker']]);
        }
    }

    /** Returns what a lock can do beyond the four requests, by what it defines. */
    private static function abilities(object $lock): array
    {
        $methods = array_filter(['convert', 'extend', 'held'], fn (string $name) => method_exists($lock, $name));
        $takes = (new ReflectionMethod($lock, 'acquire'))->getNumberOfParameters();
        return [...$methods, ...array_slice(['timed', 'shared', 'permits'], 0, $takes - 1)];
    }

    private static function answer(object $lock, array &$grants, array $request): array
    {
        $hold = $request['worker'] . '/' . ($request['hold'] ?? 0);
        $shared = ($request['mode'] ?? '') === 'shared';
        if ($request['op'] === 'touch') {
            return [];
        }
        if ($request['op'] !== 'acquire' && !isset($grants[$hold])) {
            return self::NOT_HELD;
        }
        if ($request['op'] === 'release') {
            $grant = $grants[$hold];
            unset($grants[$hold]);
            $lock->release($grant);
            return [];
        }
        if ($request['op'] === 'held') {
            return $lock->held($grants[$hold]) ? [] : self::NOT_HELD;
        }
        $grant = match ($request['op']) {
            'convert' => $lock->convert($grants[$hold], $shared),
            'extend' => $lock->extend($grants[$hold]),
            default => $lock->acquire(
                $request['key'],
                $request['acquire_timeout_ns'] / 1e9,
                $shared,
                $request['permits'] ?? 1,
            ),
        };
        if ($grant === null || $grant === false) {
            return ['type' => 'fail', 'error' => 'not granted'];
        }
        $grants[$hold] = $grant;
        return isset($grant->fencingToken) ? ['token' => $grant->fencingToken] : [];
    }

    private static function say(array $answer): void
    {
        fwrite(STDOUT, json_encode($answer, JSON_INVALID_UTF8_SUBSTITUTE) . "\n");
    }
}
