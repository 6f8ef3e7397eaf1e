// The Mutex of etcd's concurrency package (tried with 3.4.23), which belongs to a session.
package main

import (
	"context"
	"os"
	"strings"
	"sync"
	"time"

	"go.etcd.io/etcd/clientv3"
	"go.etcd.io/etcd/clientv3/concurrency"
)

type etcdMutex struct {
	run     *Run
	client  *clientv3.Client
	opening sync.Mutex
	session *concurrency.Session
}

func connect(run *Run) (Lock[*concurrency.Mutex], error) {
	endpoints := strings.Split(os.Getenv("ETCD_ENDPOINTS"), ",")
	client, err := clientv3.New(clientv3.Config{Endpoints: endpoints, DialTimeout: 2 * time.Second})
	if err != nil {
		return nil, err
	}
	lock := &etcdMutex{run: run, client: client}
	_, err = lock.opened()
	return lock, err
}

// opened returns the session, or a new one in the place of one that has ended.
func (lock *etcdMutex) opened() (*concurrency.Session, error) {
	lock.opening.Lock()
	defer lock.opening.Unlock()
	if lock.session != nil {
		select {
		case <-lock.session.Done():
		default:
			return lock.session, nil
		}
	}
	session, err := concurrency.NewSession(lock.client, concurrency.WithTTL(int(lock.run.TTL.Seconds())))
	if err == nil {
		lock.session = session
		go func() {
			<-session.Done()
			lock.run.Lost("the session is done")
		}()
	}
	return session, err
}

func (lock *etcdMutex) Acquire(key string, timeout time.Duration, shared bool) (*concurrency.Mutex, error) {
	session, err := lock.opened()
	if err != nil {
		return nil, ErrNotGranted
	}
	// It knows no single try (3.5 does): that is a short wait.
	ctx, cancel := context.WithTimeout(context.Background(), timeout+200*time.Millisecond)
	defer cancel()
	mutex := concurrency.NewMutex(session, key)
	err = mutex.Lock(ctx)
	if err != nil && mutex.Key() == "\x00" {
		return nil, ErrNotGranted // It has taken its key back.
	}
	return mutex, err
}

func (lock *etcdMutex) Release(mutex *concurrency.Mutex) error {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	return mutex.Unlock(ctx)
}

// Held asks etcd, in the way in which a transaction is made to depend on the lock. One that does
// nothing would be answered by any member from what it has, which may not yet know of the key.
func (lock *etcdMutex) Held(mutex *concurrency.Mutex) (bool, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	answer, err := lock.client.Txn(ctx).If(mutex.IsOwner()).Then(clientv3.OpGet(mutex.Key())).Commit()
	return err == nil && answer.Succeeded, err
}

func (lock *etcdMutex) Token(mutex *concurrency.Mutex) int64 { return mutex.Header().Revision }

func main() { Serve(connect) }
