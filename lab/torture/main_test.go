package torture

import (
	"context"
	"errors"
	"os"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/logging"
	"go.uber.org/goleak"

	"github.com/leasehold-go/leasehold"
	"github.com/leasehold-go/leasehold/admin"
	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/internal/redisserver"
	"github.com/leasehold-go/leasehold/redis"
)

func TestMain(m *testing.M) {
	if address := os.Getenv(holderVariable); address != "" {
		os.Exit(holder(address))
	}
	if what := os.Getenv(ticksVariable); what != "" {
		os.Exit(runTicks(what))
	}
	logging.Disable() // the client logs each connection that the tests cut
	const toxiproxy = "github.com/Shopify/toxiproxy/v2"
	goleak.VerifyTestMain(m,
		// If one side of a connection has gone, nobody reads what the other one still sends, and
		// these goroutines wait for ever.
		goleak.IgnoreAnyFunction(toxiproxy+".(*ToxicLink).read"),
		goleak.IgnoreAnyFunction(toxiproxy+"/toxics.(*ToxicStub).Run"))
}

// None of these limits decides a test on a busy machine, as long as it gets to the test at all.
const (
	patience = time.Minute     // how long a test waits for an expected event
	soon     = 5 * time.Second // how long something immediate may take
	answer   = 3 * time.Second // request timeout
)

// client is a client of the library, and one of its operators' tools on the same engine.
type client struct {
	*leasehold.Client
	ops *admin.Client
}

func newClient(e driver.Engine, requestTimeout time.Duration) client {
	return client{leasehold.New(e, leasehold.WithRequestTimeout(requestTimeout)),
		admin.New(e, admin.WithRequestTimeout(requestTimeout))}
}

// open returns a client of the library on the address of a server.
func open(t *testing.T, address string, opts ...redis.Option) client {
	t.Helper()
	server := goredis.NewClient(&goredis.Options{Addr: address})
	e, err := redis.New(server, opts...)
	if err != nil {
		t.Fatal(err)
	}
	c := newClient(e, answer)
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Errorf("closing the client: %v", err)
		}
		if err := errors.Join(e.Close(), server.Close()); err != nil {
			t.Errorf("closing the engine: %v", err)
		}
	})
	return c
}

// grantAtOnce opens a server that was started for a test, so that it grants at once.
func grantAtOnce(t *testing.T, address string) {
	t.Helper()
	server := goredis.NewClient(&goredis.Options{Addr: address})
	defer server.Close()
	e, err := redis.New(server, redis.WithMaxTTL(time.Second))
	if err == nil {
		defer e.Close()
		_, err = e.OpenNow(t.Context(), "a test")
	}
	if err != nil {
		t.Fatal(err)
	}
}

// lock waits for a lease.
func lock(t *testing.T, m *leasehold.Mutex) *leasehold.Lease {
	t.Helper()
	l, err := lockInTime(t, m)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// lockInTime retries while the servers do not answer in time, which happens on a busy machine.
func lockInTime(t *testing.T, m *leasehold.Mutex) (l *leasehold.Lease, err error) {
	for end := time.Now().Add(patience); ; {
		l, err = m.Lock(t.Context()) // the lease's context derives from it
		if !errors.Is(err, leasehold.ErrUnavailable) || time.Now().After(end) {
			return l, err
		}
	}
}

// awaitRenewal waits until a lease has been renewed by a request sent from now on, while nobody
// else gets the lock.
func awaitRenewal(t *testing.T, l *leasehold.Lease, ttl time.Duration, next <-chan *leasehold.Lease) {
	t.Helper()
	began := time.Now()
	await(t, "the lease is renewed", func() bool {
		select {
		case <-l.Context().Done():
			t.Fatalf("the lease has ended: %v", context.Cause(l.Context()))
		case l := <-next:
			t.Fatalf("two hold the lock: %+v", l)
		default:
		}
		return l.Deadline().After(began.Add(ttl))
	})
}

func unlock(t *testing.T, l *leasehold.Lease) {
	t.Helper()
	if err := l.Release(); err != nil {
		t.Errorf("Release: %v", err)
	}
}

// releaseOrLost is unlock for servers that may not confirm it in time. The library then repeats it
// in the background.
func releaseOrLost(t *testing.T, l *leasehold.Lease) {
	t.Helper()
	if err := l.Release(); err != nil && !errors.Is(err, leasehold.ErrUnknown) {
		t.Errorf("Release: %v", err)
	}
}

// waiter lets a client wait for a held lock, and returns a channel for its lease: nil if it gets
// none.
func waiter(t *testing.T, c client, name string, opts ...leasehold.Option) <-chan *leasehold.Lease {
	t.Helper()
	next := make(chan *leasehold.Lease, 1)
	go func() {
		l, err := lockInTime(t, c.Mutex(name, opts...))
		if err != nil {
			t.Errorf("the waiter: %v", err)
		}
		next <- l
	}()
	await(t, "one waits", func() bool {
		seen, err := c.ops.Inspect(t.Context(), name)
		return err == nil && len(seen) == 1 && seen[0].Waiting == 1
	})
	return next
}

// unlockNext ends the lease of the waiter, if it got one. Its token must be larger than that of the
// lease before it.
func unlockNext(t *testing.T, next, before *leasehold.Lease) {
	t.Helper()
	if next == nil {
		return
	}
	if next.Token() <= before.Token() {
		t.Errorf("token %d follows %d", next.Token(), before.Token())
	}
	unlock(t, next)
}

// awaitNothing waits until a server has no keys but those of the last tokens, which expire.
func awaitNothing(t *testing.T, s *redisserver.Server, within time.Duration) {
	t.Helper()
	var left any
	for end := time.Now().Add(within); ; time.Sleep(10 * time.Millisecond) {
		var err error
		left, err = s.Command("EVAL", `local found = {}
for _, key in ipairs(redis.call('KEYS', '*')) do
  local lasts = redis.call('PTTL', key) == -1
  local guard = string.find(key, ':guard$') or string.find(key, ':guard%-master$')
  if not guard and (lasts or not string.find(key, ':token$')) then table.insert(found, key) end
end
return found`, "0")
		if err != nil {
			t.Fatal(err)
		}
		if len(left.([]any)) == 0 {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("after %v this is left behind: %q", within, left)
		}
	}
}
