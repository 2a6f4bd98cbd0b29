package objects_test

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/leasehold-go/leasehold"
	"github.com/leasehold-go/leasehold/internal/redisserver"
	"github.com/leasehold-go/leasehold/internal/redissonwire"
	"github.com/leasehold-go/leasehold/redis/redisson"
	"github.com/leasehold-go/leasehold/redis/redisson/objects"
)

// wireClient is a client, and the prefix of its names.
type wireClient struct {
	*objects.Client
	prefix string
}

// wireSide makes the recorded calls on objects.
type wireSide struct {
	t      *testing.T
	server *redisserver.Server
	addrs  []string // of the other nodes of a Cluster
	reader goredis.UniversalClient

	mu      sync.Mutex
	clients map[string]*wireClient
	objects map[string]any    // of threads
	holders map[string]string // the thread that has last locked a key
	labels  map[string]string

	interrupts map[string]context.CancelFunc // of calls, by thread
	waiting    []*waitingCall                // those that have not returned, in their order
}

// waitingCall is a call that may wait in the queue of a fair lock.
type waitingCall struct {
	call     redissonwire.Call
	queue    string
	labelled bool // its owner is known
}

// newWireSide returns one for a server, or for the nodes of a Cluster.
func newWireSide(t *testing.T, server *redisserver.Server, more ...string) *wireSide {
	s := &wireSide{t: t, server: server, addrs: more, clients: map[string]*wireClient{}, objects: map[string]any{},
		holders: map[string]string{}, labels: map[string]string{}, interrupts: map[string]context.CancelFunc{}}
	s.reader = s.dial("")
	t.Cleanup(func() { must(t, s.reader.Close()) })
	return s
}

// Open implements [redissonwire.Side].
func (s *wireSide) Open(_ context.Context, client string, options map[string]string) error {
	rdb := s.dial(client)
	opts := []objects.Option{objects.WithPrefix(options["prefix"])}
	if options["sharded"] == "OFF" {
		opts = append(opts, objects.WithEngine(redisson.WithMessages(redisson.Unsharded)))
	}
	if ms, err := strconv.Atoi(options["watchdog"]); err == nil {
		opts = append(opts, objects.WithWatchdogTimeout(time.Duration(ms)*time.Millisecond))
	}
	c, err := objects.New(rdb, opts...)
	if err != nil {
		return err
	}
	s.t.Cleanup(func() {
		err := c.Close()
		if errors.Is(err, leasehold.ErrLost) { // parts end with locks that are held
			err = nil
		}
		must(s.t, errors.Join(err, rdb.Close()))
	})
	s.mu.Lock()
	defer s.mu.Unlock()
	s.clients[client] = &wireClient{c, options["prefix"]}
	return nil
}

// dial returns a client with a name, of the server or the Cluster.
func (s *wireSide) dial(name string) goredis.UniversalClient {
	return goredis.NewUniversalClient(&goredis.UniversalOptions{
		Addrs: append([]string{s.server.Addr()}, s.addrs...), ClientName: name, ContextTimeoutEnabled: true,
	})
}

// Begin implements [redissonwire.Side].
func (s *wireSide) Begin(context.Context, string, string) error { return nil }

// Interrupt implements [redissonwire.Side].
func (s *wireSide) Interrupt(_ context.Context, client, thread string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	cancel := s.interrupts[client+"/"+thread]
	if cancel == nil {
		return fmt.Errorf("thread %s makes no call", thread)
	}
	cancel()
	return nil
}

// begin begins a call of a thread. It can be interrupted, and may wait in a queue, until it has ended.
func (s *wireSide) begin(ctx context.Context, c redissonwire.Call) (_ context.Context, end func()) {
	thread := c.Client + "/" + c.Thread
	ctx, cancel := context.WithCancel(ctx)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.interrupts[thread] = cancel
	name := s.clients[c.Client].prefix + c.Name
	if !strings.Contains(name, "{") {
		name = "{" + name + "}"
	}
	w := &waitingCall{call: c, queue: "redisson_lock_queue:" + name}
	s.waiting = append(s.waiting, w)
	return ctx, func() {
		cancel()
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.interrupts, thread)
		s.waiting = slices.DeleteFunc(s.waiting, func(other *waitingCall) bool { return other == w })
	}
}

// Call implements [redissonwire.Side].
func (s *wireSide) Call(ctx context.Context, c redissonwire.Call) (any, error) {
	ctx, end := s.begin(ctx, c)
	defer end()
	s.mu.Lock()
	client := s.clients[c.Client]
	kind, method, _ := strings.Cut(c.Op, ".")
	object := s.objectLocked(client, c.Client+"/"+c.Thread, kind, c.Name)
	s.mu.Unlock()
	l, isLock := object.(locker)
	if !isLock {
		return s.callOther(ctx, client, kind, method, c)
	}
	value, err := s.callLock(ctx, client, l, method, c)
	switch {
	case errors.Is(err, objects.ErrNotHeld):
		err = redissonwire.Failure("IllegalMonitorStateException")
	case errors.Is(err, context.Canceled):
		err = redissonwire.Failure("InterruptedException")
	}
	return value, err
}

// callLock calls a lock.
func (s *wireSide) callLock(
	ctx context.Context, client *wireClient, l locker, method string, c redissonwire.Call,
) (any, error) {
	one, _ := l.(*objects.Lock) // and not one of several
	switch method {
	case "forceUnlock":
		return one.ForceUnlock(ctx)
	case "isLocked":
		return one.IsLocked(ctx)
	case "remainTimeToLive":
		left, err := one.RemainingTime(ctx)
		if left == 0 {
			return int64(-2), err // as Redis says that there is no key
		}
		return left.Milliseconds(), err
	case "getToken":
		return int64(one.Token()), nil
	case "getHoldCount":
		return int64(l.HoldCount()), nil
	case "isHeldByCurrentThread":
		return l.HoldCount() > 0, nil
	case "unlock":
		s.forgetHolder(client, c.Name) // the next one has locked before its call has returned
		return nil, l.Unlock()
	}
	opts := lockOptions(c.Args)
	if strings.HasPrefix(method, "lock") {
		if err := l.Lock(ctx, opts...); err != nil {
			return nil, err
		}
		s.noteHolder(client, c)
		if method == "lockAndGetToken" {
			return int64(one.Token()), nil
		}
		return nil, nil
	}
	ok, err := l.TryLock(ctx, opts...)
	if errors.Is(err, leasehold.ErrUpgrade) {
		return false, nil // on purpose, an error says so
	}
	if ok {
		s.noteHolder(client, c)
	}
	switch {
	case method != "tryLockAndGetToken":
		return ok, err
	case !ok:
		return nil, err
	}
	return int64(one.Token()), err
}

// lockOptions returns those of the arguments [[wait] lease "ms"].
func lockOptions(args []any) (opts []objects.LockOption) {
	n := len(args)
	if n > 1 {
		opts = append(opts, objects.LeaseTime(time.Duration(args[n-2].(int64))*time.Millisecond))
	}
	if n > 2 && args[0] != int64(0) {
		opts = append(opts, objects.WaitTime(time.Duration(args[0].(int64))*time.Millisecond))
	}
	return opts
}

// noteHolder notes which thread has locked.
func (s *wireSide) noteHolder(client *wireClient, c redissonwire.Call) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for part := range strings.SplitSeq(c.Name, "+") {
		if words := strings.Split(part, "."); len(words) == 3 {
			part = words[2]
		}
		s.holders[client.prefix+part] = c.Client + ":" + c.Thread
	}
}

// forgetHolder forgets which thread has locked a name.
func (s *wireSide) forgetHolder(client *wireClient, name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.holders, client.prefix+name)
}

var ownerIDs = regexp.MustCompile(`^[0-9a-f-]{36}:\d+`)

// Labels implements [redissonwire.Side]. The last locks of a RedLock may be there later than it is.
func (s *wireSide) Labels() map[string]string {
	s.mu.Lock()
	defer s.mu.Unlock()
	for key, thread := range s.holders {
		fields, err := s.reader.HKeys(s.t.Context(), key).Result()
		must(s.t, err)
		for _, field := range fields {
			if id := ownerIDs.FindString(field); id != "" && s.labels[id] == "" {
				s.labels[id] = thread
			}
		}
	}
	for _, w := range s.waiting {
		if !w.labelled && strings.HasPrefix(w.call.Op, "fair.") {
			owners, err := s.reader.LRange(s.t.Context(), w.queue, 0, -1).Result()
			must(s.t, err)
			i := slices.IndexFunc(owners, func(owner string) bool { return s.labels[owner] == "" })
			if i >= 0 {
				s.labels[owners[i]], w.labelled = w.call.Client+":"+w.call.Thread, true
			}
		}
	}
	return maps.Clone(s.labels)
}

// objectLocked returns an object of a thread.
func (s *wireSide) objectLocked(c *wireClient, thread, kind, name string) any {
	key := thread + " " + kind + " " + name
	if s.objects[key] == nil {
		s.objects[key] = s.makeLocked(c, thread, kind, name)
	}
	return s.objects[key]
}

func (s *wireSide) makeLocked(c *wireClient, thread, kind, name string) any {
	switch kind {
	case "lock":
		return c.Lock(name)
	case "fenced":
		return c.FencedLock(name)
	case "spin":
		return c.SpinLock(name)
	case "fair":
		return c.FairLock(name)
	case "read", "write": // both are of one value
		l := c.ReadWriteLock(name)
		s.objects[thread+" read "+name], s.objects[thread+" write "+name] = l.ReadLock(), l.WriteLock()
		return s.objects[thread+" "+kind+" "+name]
	case "multi", "red":
		var locks []*objects.Lock
		for part := range strings.SplitSeq(name, "+") {
			words := strings.Split(part, ".")
			locks = append(locks, s.objectLocked(s.clients[words[0]], thread, words[1], words[2]).(*objects.Lock))
		}
		newLock := map[string]func(...*objects.Lock) (*objects.MultiLock, error){
			"multi": objects.NewMultiLock, "red": objects.NewRedLock,
		}[kind]
		return multi(s.t, newLock, locks...)
	}
	return nil
}

// callOther calls a semaphore or a latch.
func (s *wireSide) callOther(
	ctx context.Context, client *wireClient, kind, method string, c redissonwire.Call,
) (any, error) {
	switch kind + "." + method {
	case "semaphore.trySetPermits":
		return client.Semaphore(c.Name).TrySetPermits(ctx, int(c.Args[0].(int64)))
	case "permits.trySetPermits":
		return client.PermitExpirableSemaphore(c.Name, 1).TrySetPermits(ctx, int(c.Args[0].(int64)))
	case "permits.tryAcquire":
		if _, err := client.PermitExpirableSemaphore(c.Name, 1).TryAcquire(ctx, 1); err != nil {
			return nil, err
		}
		ids, err := s.server.Command("ZRANGE", "{"+client.prefix+c.Name+"}:timeout", "0", "-1")
		return hex.EncodeToString([]byte(ids.([]any)[0].(string))), err
	case "latch.trySetCount":
		return client.CountDownLatch(c.Name).TrySetCount(ctx, int(c.Args[0].(int64)))
	case "latch.countDown":
		_, err := client.CountDownLatch(c.Name).CountDown(ctx)
		return nil, err
	case "latch.await":
		return nil, client.CountDownLatch(c.Name).Await(ctx)
	case "semaphore.acquire":
		return nil, client.Semaphore(c.Name).Acquire(ctx, 1)
	case "semaphore.tryAcquire":
		return client.Semaphore(c.Name).TryAcquire(ctx, 1)
	case "semaphore.release":
		return nil, client.Semaphore(c.Name).Release(ctx, 1)
	}
	return nil, fmt.Errorf("%s is not played", c.Op)
}
