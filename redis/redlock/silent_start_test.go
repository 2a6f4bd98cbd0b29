package redlock_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/leasehold-go/leasehold"
	"github.com/leasehold-go/leasehold/internal/redisserver"
	"github.com/leasehold-go/leasehold/redis"
	"github.com/leasehold-go/leasehold/redis/redlock"
)

// A program that opens an engine, takes a lock, releases it and ends does not wait for a server that was
// frozen from the start: neither when it opens the engine nor when it closes it.
func TestServerThatIsSilentFromTheStartCostsNothing(t *testing.T) {
	t.Parallel()
	s := servers(t, 5)
	if err := s[2].Pause(); err != nil {
		t.Fatal(err)
	}
	const timeout = 10 * time.Second // opening waits for a fifth of it
	began := time.Now()
	e, err := redlock.New(t.Context(), clients(t, addresses(s)), redlock.WithNodeTimeout(timeout),
		redlock.WithNodes(redis.WithoutFailoverGuard()))
	if err != nil {
		t.Fatal(err)
	}
	c := leasehold.New(e)
	lease, err := c.Mutex("name").TryLock(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := lease.Release(); err != nil {
		t.Error(err)
	}
	if err := errors.Join(c.Close(), e.Close()); err != nil {
		t.Error(err)
	}
	if d := time.Since(began); d >= timeout {
		t.Errorf("it took %v", d)
	}
	if err := s[2].Resume(); err != nil {
		t.Fatal(err)
	}
}

// A replica that does not answer at first is refused when it does.
func TestReplicaIsNoticedLate(t *testing.T) {
	t.Parallel()
	s := servers(t, 3)
	p := redisserver.ProxyForTest(t, redisserver.ReplicaForTest(t, s[0], redisserver.Config{}).Addr())
	p.Freeze()
	e := open(t, []string{s[1].Addr(), s[2].Addr(), p.Addr()}, redlock.WithNodeTimeout(3*time.Second))
	p.Thaw()
	s[1].Kill()
	replica := new(*redlock.NotIndependentError)
	for end := time.Now().Add(patience); ; {
		_, err := e.Take(t.Context(), request("name"))
		if slices.ContainsFunc(votesOf(t, err), func(v redlock.Vote) bool { return errors.As(v.Err, replica) }) {
			if !strings.Contains(err.Error(), "a replica") {
				t.Errorf("the error does not say what is wrong: %v", err)
			}
			return
		}
		if time.Now().After(end) {
			t.Fatalf("a replica has a vote: %v", err)
		}
	}
}
