// A semaphore of three permits, for one worker.
package main

import "time"

type semaphore struct{ free int }

func (s *semaphore) Acquire(key string, timeout time.Duration, _ bool) (int, error) {
	return s.AcquirePermits(key, timeout, 1)
}

func (s *semaphore) AcquirePermits(_ string, _ time.Duration, permits int) (int, error) {
	if permits > s.free {
		return 0, ErrNotGranted
	}
	s.free -= permits
	return permits, nil
}

func (s *semaphore) Release(permits int) error {
	s.free += permits
	return nil
}

func main() {
	Serve(func(*Run) (Lock[int], error) { return &semaphore{free: 3}, nil })
}
