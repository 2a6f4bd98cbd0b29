package lib

import (
	"context"
	"errors"
	"sync"

	"github.com/leasehold-go/leasehold/lab/bench/internal/servers"
	"github.com/leasehold-go/leasehold/redis/redisson"
	"github.com/leasehold-go/leasehold/redis/redisson/objects"
)

// Locks of this library on Redisson's keys.
var (
	GoPlain  = onRedisson("Go plain", redisson.Plain)
	GoFenced = onRedisson("Go fenced", redisson.Fenced)

	GoObjectsLock       = ofObjects("Go objects.Lock", (*objects.Client).Lock)
	GoObjectsFencedLock = ofObjects("Go objects.FencedLock", (*objects.Client).FencedLock)
)

func onRedisson(name string, lock redisson.LockType) Library {
	return Library{
		Name:   name,
		Module: tree,
		On:     servers.OneRedis,
		Ours:   true,
		Config: "the engine redisson with defaults (30 s, renewed every third); " + plainClient,
		Open:   func(at Config) (Session, error) { return openRedisson(at, lock) },
	}
}

func openRedisson(at Config, lock redisson.LockType) (Session, error) {
	c := client(at)
	e, err := redisson.New(c, redisson.WithLock(lock))
	if err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return newLeaseholdSession(at, e, e.Close, c.Close), nil
}

func ofObjects(name string, lock func(*objects.Client, string) *objects.Lock) Library {
	return Library{
		Name:   name,
		Module: tree,
		On:     servers.OneRedis,
		Ours:   true,
		Config: "defaults (30 s, renewed every third), and a value that is used again; " + plainClient,
		Open: func(at Config) (Session, error) {
			c := client(at)
			r, err := objects.New(c)
			if err != nil {
				return nil, errors.Join(err, c.Close())
			}
			return &objectsSession{lock: func(name string) *objects.Lock { return lock(r, name) },
				free: map[string][]*objects.Lock{}, closers: []func() error{r.Close, c.Close}}, nil
		},
	}
}

// objectsSession uses objects as programs do, which make one for each goroutine: it keeps those that nobody uses.
type objectsSession struct {
	lock    func(name string) *objects.Lock
	closers []func() error

	mu   sync.Mutex
	free map[string][]*objects.Lock
}

func (s *objectsSession) Lock(ctx context.Context, name string) (Held, error) {
	l := s.take(name)
	if err := l.Lock(ctx); err != nil {
		return Held{}, err
	}
	return Held{Token: l.Token(), Release: func() error {
		err := l.Unlock()
		s.mu.Lock()
		defer s.mu.Unlock()
		s.free[name] = append(s.free[name], l)
		return err
	}}, nil
}

func (s *objectsSession) take(name string) *objects.Lock {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := s.free[name]
	if len(all) == 0 {
		return s.lock(name)
	}
	last := len(all) - 1
	s.free[name] = all[:last]
	return all[last]
}

func (s *objectsSession) Close() error { return closeInOrder(s.closers) }
