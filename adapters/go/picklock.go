// A lock client of picklock in Go: one file, without dependencies. Copy it beside your lock, and
// build both: `go build picklock.go my_lock.go`. Such as a lock of etcd's concurrency package:
//
//	type MyLock struct{ session *concurrency.Session }
//
//	func (l MyLock) Acquire(key string, timeout time.Duration, shared bool) (*concurrency.Mutex, error) {
//		ctx, cancel := context.WithTimeout(context.Background(), timeout+time.Second)
//		defer cancel()
//		mutex := concurrency.NewMutex(l.session, key)
//		return mutex, mutex.Lock(ctx)
//	}
//
//	func (l MyLock) Release(mutex *concurrency.Mutex) error { return mutex.Unlock(context.Background()) }
//
//	func main() {
//		Serve(func(run *Run) (Lock[*concurrency.Mutex], error) {
//			endpoints := strings.Split(os.Getenv("ETCD_ENDPOINTS"), ",")
//			client, err := clientv3.New(clientv3.Config{Endpoints: endpoints})
//			if err != nil {
//				return nil, err
//			}
//			session, err := concurrency.NewSession(client, concurrency.WithTTL(int(run.TTL.Seconds())))
//			return MyLock{session}, err
//		}, context.DeadlineExceeded)
//	}
//
// One lock serves a client process; its workers call it from a goroutine each. After ErrNotGranted
// and the errors that are given to Serve, nothing has happened; after any other nobody knows.
package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"
)

// Lock is a lock whose grants are of type G.
type Lock[G any] interface {
	// Acquire waits for the lock, at most so long, and returns the grant, or ErrNotGranted.
	Acquire(key string, timeout time.Duration, shared bool) (G, error)
	Release(grant G) error
}

// Semaphore is a lock of which an acquire can take several permits, all or none; Acquire takes one.
type Semaphore[G any] interface {
	AcquirePermits(key string, timeout time.Duration, permits int) (G, error)
}

// Converter is a lock that changes the mode of a grant without letting go of it.
type Converter[G any] interface {
	Convert(grant G, shared bool) (G, error)
}

// Extender is a lock that begins the time to live of a grant anew, or returns ErrNotGranted.
type Extender[G any] interface {
	Extend(grant G) (G, error)
}

// Teller is a lock that can say whether it still claims a grant.
type Teller[G any] interface {
	Held(grant G) (bool, error)
}

// Fenced is a lock whose grants have fencing tokens.
type Fenced[G any] interface {
	Token(grant G) int64
}

// ErrNotGranted says that there is no grant.
var ErrNotGranted = errors.New("not granted")

var errNotHeld = errors.New("not held")

// Run is what the harness says of a run. Init has all fields of its first request.
type Run struct {
	TTL     time.Duration
	Servers []string
	Init    map[string]any
	out     *os.File
	saying  sync.Mutex
	workers sync.Map // Their requests, by their numbers.
}

// Lost tells the harness that the workers may have lost what they hold. Callable from anywhere.
func (run *Run) Lost(err any) { run.tell("lost", err) }

// Doubt does the same of a loss that is in doubt, and in spite of which the program goes on.
func (run *Run) Doubt(err any) { run.tell("doubt", err) }

func (run *Run) tell(level string, err any) {
	run.workers.Range(func(worker, _ any) bool {
		run.say(map[string]any{"type": "lost", "worker": worker, "level": level, "error": fmt.Sprint(err)})
		return true
	})
}

func (run *Run) say(answer map[string]any) {
	line, _ := json.Marshal(answer)
	run.saying.Lock()
	defer run.saying.Unlock()
	run.out.Write(append(line, '\n'))
}

type request struct {
	ID      int64    `json:"id"`
	Worker  int64    `json:"worker"`
	Op      string   `json:"op"`
	Key     string   `json:"key"`
	Hold    int64    `json:"hold"`
	Mode    string   `json:"mode"`
	Permits int      `json:"permits"`
	Timeout int64    `json:"acquire_timeout_ns"`
	TTL     int64    `json:"ttl_ns"`
	Servers []string `json:"servers"`
}

// Serve serves the harness until it says `exit` or hangs up.
func Serve[G any](newLock func(*Run) (Lock[G], error), definite ...error) {
	run := &Run{out: os.Stdout}
	os.Stdout = os.Stderr // Whatever a library prints goes to the log.
	definite = append(definite, ErrNotGranted, errNotHeld)
	var lock Lock[G]
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		var asked request
		must(json.Unmarshal(in.Bytes(), &asked))
		switch asked.Op {
		case "exit":
			return
		case "init":
			run.TTL, run.Servers = time.Duration(asked.TTL), asked.Servers
			must(json.Unmarshal(in.Bytes(), &run.Init))
			var err error
			lock, err = newLock(run)
			must(err)
			run.say(map[string]any{"id": asked.ID, "type": "ok", "version": 1, "can": abilities(lock)})
		default:
			requests, known := run.workers.LoadOrStore(asked.Worker, make(chan request, 1))
			if !known {
				go work(run, lock, requests.(chan request), definite)
			}
			requests.(chan request) <- asked
		}
	}
}

// abilities returns what a lock can do beyond the four requests, by the interfaces that it has.
func abilities[G any](lock Lock[G]) []string {
	can := []string{"timed", "shared", "workers"}
	if _, is := lock.(Semaphore[G]); is {
		can = append(can, "permits")
	}
	if _, is := lock.(Converter[G]); is {
		can = append(can, "convert")
	}
	if _, is := lock.(Extender[G]); is {
		can = append(can, "extend")
	}
	if _, is := lock.(Teller[G]); is {
		can = append(can, "held")
	}
	return can
}

func must(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func work[G any](run *Run, lock Lock[G], requests chan request, definite []error) {
	grants := map[int64]G{}
	for asked := range requests {
		answer := map[string]any{"id": asked.ID, "worker": asked.Worker, "type": "ok"}
		if err := carryOut(lock, grants, asked, answer); err != nil {
			answer["type"], answer["error"] = "info", err.Error()
			for _, it := range definite {
				if errors.Is(err, it) {
					answer["type"] = "fail"
				}
			}
		}
		run.say(answer)
	}
}

// carryOut does what is asked for, and adds the token of a grant to the answer.
func carryOut[G any](lock Lock[G], grants map[int64]G, asked request, answer map[string]any) (err error) {
	defer func() {
		if panicked := recover(); panicked != nil {
			err = fmt.Errorf("panic: %v", panicked)
		}
	}()
	grant, isHeld := grants[asked.Hold]
	switch asked.Op {
	case "touch":
		return nil
	case "release", "held", "convert", "extend":
		if !isHeld {
			return errNotHeld
		}
	}
	timeout := time.Duration(asked.Timeout)
	switch asked.Op {
	case "release":
		delete(grants, asked.Hold)
		return lock.Release(grant)
	case "held":
		held, err := lock.(Teller[G]).Held(grant)
		if err == nil && !held {
			err = errNotHeld
		}
		return err
	case "convert":
		grant, err = lock.(Converter[G]).Convert(grant, asked.Mode == "shared")
	case "extend":
		grant, err = lock.(Extender[G]).Extend(grant)
	default:
		if asked.Permits > 1 {
			grant, err = lock.(Semaphore[G]).AcquirePermits(asked.Key, timeout, asked.Permits)
		} else {
			grant, err = lock.Acquire(asked.Key, timeout, asked.Mode == "shared")
		}
	}
	if err == nil {
		grants[asked.Hold] = grant
		if fenced, is := lock.(Fenced[G]); is {
			answer["token"] = fenced.Token(grant)
		}
	}
	return err
}
