// NOT RUN HERE: written from its documentation alone. redsync v4, `Mutex`, over go-redis 9.
//
// Build it with ../go/picklock.go in a module of your own. `--on redis-x5 --promises recovers,available`, or
// `--on redis --promises recovers`.
package main

import (
	"errors"
	"os"
	"strings"
	"time"

	"github.com/go-redsync/redsync/v4"
	"github.com/go-redsync/redsync/v4/redis"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"
	goredislib "github.com/redis/go-redis/v9"
)

const delay = 50 * time.Millisecond

type redsyncMutex struct {
	*redsync.Redsync
	ttl time.Duration
}

var errNotHeld = errors.New("it was no longer held")

func (lock redsyncMutex) Acquire(key string, timeout time.Duration, shared bool) (*redsync.Mutex, error) {
	mutex := lock.NewMutex(key, redsync.WithExpiry(lock.ttl), redsync.WithRetryDelay(delay),
		redsync.WithTries(1+int(timeout/delay)))
	err := mutex.Lock()
	var taken *redsync.ErrTaken
	if errors.As(err, &taken) {
		return nil, ErrNotGranted
	}
	return mutex, err
}

func (lock redsyncMutex) Release(mutex *redsync.Mutex) error {
	released, err := mutex.Unlock()
	if err == nil && !released {
		return errNotHeld
	}
	return err
}

func main() {
	Serve(func(run *Run) (Lock[*redsync.Mutex], error) {
		var pools []redis.Pool
		for _, url := range strings.Split(os.Getenv("REDIS_URLS"), ",") {
			options, err := goredislib.ParseURL(url)
			if err != nil {
				return nil, err
			}
			pools = append(pools, goredis.NewPool(goredislib.NewClient(options)))
		}
		return redsyncMutex{redsync.New(pools...), run.TTL}, nil
	}, redsync.ErrFailed, errNotHeld)
}
