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

// deviations are those of locks that package redisson does not know: of several, again, and with a watchdog.
var deviations = []redissonwire.Deviation{
	{Why: "No script is sent twice, so none notes that it has run.", Line: `^[kw] .*redisson_unlock_latch:.*`},
	{Why: "The program counts how often it has locked.", Line: `^w hincrby \S+ \S+ (-1|1)$`},
	{Why: "The program counts how often it has locked.", Line: `(\S+:t\d(:write)?): \d+`, To: "$1"},
}

// ofPrefixes are more of those.
var ofPrefixes = []redissonwire.Deviation{
	{Why: "Locks with tokens have fields of their own.", Line: `^w hset \S+ leasehold:.*`},
	{Why: "Locks with tokens have fields of their own.",
		Line: `(, )?leasehold:holder: "[^"]*", leasehold:token: \d+(, )?`},
	{Why: "Fair and read-write locks have tokens, too, in a counter.", Line: `^[kw] .*redisson_lock_token:.*`},
	{Why: "Some keys are ours.", Line: `^(w del \S+) leasehold_holders:\S+$`, To: "$1"},
	{Why: "Some keys are ours.", Line: `^[kw] .*leasehold_(holders|waiters|permits|permits_set|latch):.*`},
	{Why: "A free fair lock has no queue.", Line: `^w (lpop|zrem|lrem) .*redisson_lock_(queue|timeout):.*`},
	{Why: "A reader, and a holder of a fair lock, holds once.", Line: `^w hset (\S+ \S+ 1)$`},
	{Why: "A ttl is set only if it grows.", Line: `^w pexpire \S+ ~?\d+$`},
	{Why: "A reader's key and its ttl are set by one command.", Line: `^w set \S+:rwlock_timeout:1 1( px \d+)?$`},
	{Why: "What has ended is removed by its end.", Line: `^w zremrangebyscore .*`},
	{Why: "Permits without a lease have one.", Line: `\b922337203685477\b|\bnow\+30000\b`, To: "END"},
}

// ofWatchdogs are more of those.
var ofWatchdogs = append(slices.Clone(ofPrefixes[:6]),
	redissonwire.Deviation{Why: "A holder of a fair lock holds once.", Line: `^w hset (\S+ \S+ 1)$`},
	redissonwire.Deviation{Why: "An unlock of an RSpinLock notifies.", Line: `^(m|w publish) \S+:{spin} 0$`})

// ofMulti are more of those.
var ofMulti = redissonwire.Deviation{Why: "The lease is not set once more when all are locked.", Line: `^w pexpire .*`}

// What was recorded of a real Redisson is played on objects: locks of several locks, names with a prefix, and what the
// watchdog does. They write the same, publish the same, and leave the same keys, but for the deviations.
func TestObjectsWriteWhatRedissonWrites(t *testing.T) {
	t.Parallel()
	for file, recorded := range map[string]struct {
		deviations []redissonwire.Deviation
		leftOut    []string
	}{
		"multi":  {append(slices.Clone(deviations), ofMulti), []string{"a multi-lock in one key"}}, // a newer object
		"prefix": {slices.Concat(deviations, ofPrefixes), nil},
		"watchdog": {slices.Concat(deviations, ofWatchdogs), []string{
			"readers are renewed", // each by itself
			"two locks at once, a lock that is lost, and a re-entry", // which is a renewal in Redisson
		}},
	} {
		t.Run(file, func(t *testing.T) {
			t.Parallel()
			setup := func() (redissonwire.Side, []*redisserver.Server) {
				s := redisserver.ForTest(t, redisserver.Config{})
				return newWireSide(t, s), []*redisserver.Server{s}
			}
			w := redissonwire.NewRewriter(recorded.deviations)
			redissonwire.Play(t, "../testdata/wire/"+file+".txt", setup, redissonwire.Options{
				Parts:   func(title string) bool { return !slices.Contains(recorded.leftOut, title) },
				Rewrite: w.Rewrite,
			})
			w.CheckUsed(t)
		})
	}
}

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
}

// newWireSide returns one for a server, or for the nodes of a Cluster.
func newWireSide(t *testing.T, server *redisserver.Server, more ...string) *wireSide {
	s := &wireSide{t: t, server: server, addrs: more, clients: map[string]*wireClient{}, objects: map[string]any{},
		holders: map[string]string{}, labels: map[string]string{}}
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
func (s *wireSide) Interrupt(context.Context, string, string) error {
	return errors.New("no thread is interrupted")
}

// Call implements [redissonwire.Side].
func (s *wireSide) Call(ctx context.Context, c redissonwire.Call) (any, error) {
	s.mu.Lock()
	client := s.clients[c.Client]
	kind, method, _ := strings.Cut(c.Op, ".")
	object := s.objectLocked(client, c.Client+"/"+c.Thread, kind, c.Name)
	s.mu.Unlock()
	l, isLock := object.(locker)
	switch {
	case !isLock:
		return s.callOther(ctx, client, kind, method, c)
	case method == "forceUnlock":
		return object.(*objects.Lock).ForceUnlock(ctx)
	case method == "unlock":
		s.forgetHolder(client, c.Name) // the next one has locked before its call has returned
		if err := l.Unlock(); errors.Is(err, objects.ErrNotHeld) {
			return nil, redissonwire.Failure("IllegalMonitorStateException")
		} else if err != nil {
			return nil, err
		}
		return nil, nil
	}
	var opts []objects.LockOption
	if n := len(c.Args); n > 1 { // [wait] lease "ms"
		opts = append(opts, objects.LeaseTime(time.Duration(c.Args[n-2].(int64))*time.Millisecond))
		if n > 2 && c.Args[0] != int64(0) {
			opts = append(opts, objects.WaitTime(time.Duration(c.Args[0].(int64))*time.Millisecond))
		}
	}
	ok, err := l.TryLock(ctx, opts...)
	if ok {
		s.noteHolder(client, c)
	}
	return ok, err
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
	case "read":
		return c.ReadWriteLock(name).ReadLock()
	case "write":
		return c.ReadWriteLock(name).WriteLock()
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
