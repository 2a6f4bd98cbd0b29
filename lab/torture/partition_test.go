package torture

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/leasehold-go/leasehold"
	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/internal/redisserver"
	"github.com/leasehold-go/leasehold/redis/redlock"
)

func fiveServers(t *testing.T, lines ...string) (all []*redisserver.Server) {
	t.Helper()
	for range 5 {
		all = append(all, redisserver.ForTest(t, redisserver.Config{Lines: lines}))
	}
	return all
}

// No fault of the network between a client and two of five servers costs time, and nothing stays
// behind when it is over.
func TestFaultsOfTwoLinksCostNothing(t *testing.T) {
	t.Parallel()
	servers := fiveServers(t)
	for _, f := range networkFaults {
		t.Run(f.name, func(t *testing.T) {
			t.Parallel()
			n := networkTo(t, servers)
			// Waiting for these servers would be noticed.
			c := openRedlock(t, n.addresses(), redlock.WithNodeTimeout(10*time.Second))
			m := c.Mutex(f.name, leasehold.TTL(5*time.Second))
			unlock(t, lock(t, m)) // the client has connected to the servers
			fix := n.apply(f, 1, 3)
			var last uint64
			for range 5 {
				began := time.Now()
				l := lock(t, m)
				if l.Token() <= last {
					t.Errorf("token %d follows %d", l.Token(), last)
				}
				last = l.Token()
				if err := l.Extend(t.Context(), 6*time.Second); err != nil {
					t.Errorf("Extend: %v", err)
				}
				unlock(t, l)
				if d := time.Since(began); d > 5*time.Second {
					t.Errorf("it took %v", d)
				}
			}
			fix()
			unlock(t, lock(t, m))
			for _, s := range servers {
				awaitFree(t, s, f.name)
			}
		})
	}
}

// awaitFree waits until a server has no key of a lock but that of its last token.
func awaitFree(t *testing.T, s *redisserver.Server, name string) {
	t.Helper()
	await(t, "nobody holds "+name+" or waits for it", func() bool {
		left, err := s.Command("EXISTS", "lock:"+name, "{lock:"+name+"}:queue", "{lock:"+name+"}:holders",
			"{lock:"+name+"}:info")
		if err != nil {
			t.Fatal(err)
		}
		return left == int64(0)
	})
}

// Two clients see three of the five servers each, and have only one of them in common. One at a
// time gets the lock, and tokens grow.
func TestMajoritiesWithOneServerInCommon(t *testing.T) {
	t.Parallel()
	servers := fiveServers(t)
	cut := faultNamed("no byte comes through")
	left, right := networkTo(t, servers), networkTo(t, servers)
	opts := redlock.WithNodeTimeout(300 * time.Millisecond)
	a, b := openRedlock(t, left.addresses(), opts), openRedlock(t, right.addresses(), opts)
	defer left.apply(cut, 3, 4)()
	defer right.apply(cut, 0, 1)()
	var last uint64
	for round := range 10 {
		holder, other := a, b
		if round%2 == 1 {
			holder, other = b, a
		}
		l := lock(t, holder.Mutex("name"))
		if l.Token() <= last {
			t.Errorf("token %d follows %d", l.Token(), last)
		}
		last = l.Token()
		if _, err := other.Mutex("name").TryLock(t.Context()); !errors.Is(err, leasehold.ErrHeld) &&
			!errors.Is(err, leasehold.ErrUnavailable) {
			t.Fatalf("the other one, while it is held: %v", err)
		}
		releaseOrLost(t, l) // it needs all three
	}
}

// A holder is cut off from three of the five servers. Its lease ends at its deadline, and not
// later; clients that reach the servers get the lock after that.
func TestHolderThatIsCutOff(t *testing.T) {
	t.Parallel()
	const ttl = 3 * time.Second
	for _, f := range []networkFault{faultNamed("no byte comes through"), faultNamed("requests are lost"),
		faultNamed("replies are lost"), faultNamed("nobody can connect")} {
		t.Run(f.name, func(t *testing.T) {
			t.Parallel()
			servers := fiveServers(t)
			near := networkTo(t, servers)
			opts := redlock.WithNodeTimeout(300 * time.Millisecond)
			m := openRedlock(t, near.addresses(), opts).Mutex("name", leasehold.TTL(ttl))
			l := lock(t, m)
			held := l.Context()
			far := networkTo(t, servers)
			other := openRedlock(t, far.addresses(), opts).Mutex("name", leasehold.TTL(ttl))
			fix := near.apply(f, 0, 2, 4)
			if f.name != "replies are lost" { // its renewals arrive, so the lock stays held
				next := lock(t, other)
				if held.Err() == nil {
					t.Fatal("two hold the lock")
				}
				if next.Token() <= l.Token() {
					t.Errorf("token %d follows %d", next.Token(), l.Token())
				}
				unlock(t, next)
			}
			<-held.Done()
			if late := time.Since(l.Deadline()); late > soon || !errors.Is(context.Cause(held), leasehold.ErrLost) {
				t.Errorf("the lease ended %v after its deadline: %v", late, context.Cause(held))
			}
			fix()
			if err := l.Release(); !errors.Is(err, leasehold.ErrLost) {
				t.Errorf("Release: %v, want ErrLost", err)
			}
			unlock(t, lock(t, m))
			for _, s := range servers {
				awaitFree(t, s, "name")
			}
		})
	}
}

// The replies of three of five servers are lost: they have granted the lock, and nobody knows. It
// is released long before it would expire.
func TestGrantsWithLostRepliesAreReleased(t *testing.T) {
	t.Parallel()
	servers := fiveServers(t)
	n := networkTo(t, servers)
	c := openRedlock(t, n.addresses(), redlock.WithNodeTimeout(300*time.Millisecond))
	unlock(t, lock(t, c.Mutex("any")))
	fix := n.apply(faultNamed("replies are lost"), 0, 2, 4)
	_, err := c.Mutex("name", leasehold.TTL(time.Minute)).TryLock(t.Context())
	if !errors.Is(err, leasehold.ErrUnavailable) {
		t.Errorf("TryLock: %v, want ErrUnavailable", err)
	} else if votes, ok := errors.AsType[*redlock.Error](err); !ok || votes.Need != 3 {
		t.Errorf("the error has no votes: %v", err)
	}
	fix()
	for _, s := range servers {
		awaitFree(t, s, "name")
	}
}

// Servers answer when nothing is left of the lease. The lease is not used, and released. The test
// asks the engine, as the library would not even wait for so long.
func TestAnswersThatComeAfterTheLease(t *testing.T) {
	t.Parallel()
	servers := fiveServers(t)
	n := networkTo(t, servers)
	e := redlockOn(t, n.addresses(), redlock.WithNodeTimeout(10*time.Second))
	ask := func(name string, ttl time.Duration) error {
		r := driver.Request{Key: driver.Key{Kind: driver.Lock, Name: name}, Owner: "owner of " + name, Size: 1,
			Weight: 1, TTL: ttl, Tokens: 1}
		_, err := e.Take(t.Context(), r)
		return err
	}
	if err := ask("any", time.Minute); err != nil { // the client has connected to the servers
		t.Fatal(err)
	}
	for _, f := range []networkFault{faultNamed("requests arrive late"), faultNamed("replies arrive late")} {
		fix := n.apply(f, 1, 2, 3)
		name := "when " + f.name
		if err := ask(name, 500*time.Millisecond); err == nil || driver.IsNo(err) ||
			!strings.Contains(err.Error(), "left of the lease") {
			t.Errorf("%s: %v", f.name, err)
		}
		if err := ask(name+", in time", time.Minute); err != nil {
			t.Errorf("%s, but in time: %v", f.name, err)
		}
		fix()
		for _, s := range servers {
			awaitFree(t, s, name)
		}
	}
}
