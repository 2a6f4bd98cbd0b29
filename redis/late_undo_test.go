package redis_test

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/internal/redisserver"
	"github.com/leasehold-go/leasehold/redis"
)

// fewReplicas is a server with a replica that must confirm what one engine is granted, and another engine that asks for
// no replicas. The first engine's requests go through a proxy.
type fewReplicas struct {
	replicaTest
	p         *redisserver.Proxy
	confirmed *redis.Engine // with replicas
	others    *redis.Engine
}

func newFewReplicas(t *testing.T) *fewReplicas {
	r := redisserver.ReplicatedForTest(t, 1, redisserver.Config{})
	p := redisserver.ProxyForTest(t, r.Master.Addr())
	s := &fewReplicas{replicaTest: replicaTest{"", standalone(r.Master), r.Master, r.Replicas[0]}, p: p}
	s.confirmed = unguarded(t, slowClient(p.Addr()), redis.WithReplicas(1, confirmTimeout))
	s.others = unguarded(t, standalone(r.Master))
	known := lock("to know the server")
	s.takeRetrying(t, known)
	return s
}

// slowClient makes a client that ignores contexts, so that it sends each request, and that gives up after a while.
func slowClient(addr string) newClient {
	return func(t *testing.T) goredis.UniversalClient {
		return closed(t, goredis.NewClient(&goredis.Options{Addr: addr, MaxRetries: -1,
			ReadTimeout: 2 * confirmTimeout}))
	}
}

// interceptRelease does something with the next release that the proxy sees. The channel is closed then.
func (s *fewReplicas) interceptRelease(t *testing.T, action redisserver.Action) <-chan struct{} {
	seen := make(chan struct{})
	done := false
	s.p.Intercept(func(request []byte) redisserver.Action {
		w := redisserver.Words(request)
		// A release has five keys and few arguments.
		if done || len(w) < 8 || w[0] != "evalsha" || w[2] != "5" || len(w)-8 > 7 {
			return redisserver.Pass
		}
		done = true
		close(seen)
		return action
	})
	t.Cleanup(s.p.Release)
	return seen
}

// deliver lets the request in the proxy go on, and returns when the server has done it.
func (s *fewReplicas) deliver(t *testing.T) {
	t.Helper()
	deliver(t, s.p, s.master)
}

func deliver(t *testing.T, p *redisserver.Proxy, at *redisserver.Server) {
	t.Helper()
	calls := func() string {
		for line := range strings.Lines(command(t, at, "INFO", "commandstats").(string)) {
			if strings.HasPrefix(line, "cmdstat_evalsha:") {
				return strings.SplitN(line, ",", 2)[0]
			}
		}
		return ""
	}
	before := calls()
	p.Release()
	eventually(t, "the request in flight arrives", func() bool { return calls() != before })
}

// nextOwner is the request with which a call goes on after an error, as the contract has it.
func nextOwner(r driver.Request, err error) driver.Request {
	if driver.IsSpent(err) {
		if r.Place == "" {
			r.Place = r.Owner
		}
		r.Owner = rand.Text()
	}
	return r
}

// nextAfter does what the core does after an error: it releases an owner that is spent, and returns a request of
// another owner, at the same place.
func (s *fewReplicas) nextAfter(t *testing.T, r driver.Request, err error) driver.Request {
	t.Helper()
	next := nextOwner(r, err)
	if next.Owner != r.Owner && !driver.HadNoEffect(err) {
		if err := s.confirmed.Release(t.Context(), driver.Release{Hold: hold(r), Place: next.Place}); err != nil &&
			!errors.Is(err, driver.ErrNotHeld) {
			t.Fatal(err)
		}
	}
	return next
}

// takeRetrying takes what must be free but for this call, as the core does: on a busy machine a replica may not confirm
// in time. It returns the request that was granted.
func (s *fewReplicas) takeRetrying(t *testing.T, r driver.Request) driver.Request {
	t.Helper()
	eventually(t, "the call is granted the lock", func() bool {
		_, err := s.confirmed.Take(t.Context(), r)
		if err != nil {
			r = s.nextAfter(t, r, err)
		}
		return err == nil
	})
	return r
}

// The release that undoes a hand-over is in flight for so long that the call was granted the lock once more. It takes
// nothing from anybody.
func TestLateUndoOfAHandOver(t *testing.T) {
	t.Parallel()
	s := newFewReplicas(t)
	first, r, behind := lasting("a", time.Minute), lasting("a", time.Minute), lasting("a", time.Minute)
	mustTake(t, s.others, first)
	r = mustJoin(t, s.confirmed, r)
	behind = mustJoin(t, s.others, behind)
	resume := s.pauseReplica(t)
	undone := s.interceptRelease(t, redisserver.Hold)
	got := startWait(t, s.confirmed, r)
	release(t, s.others, first)
	<-undone
	err := (<-got).err
	if err == nil {
		t.Fatal("the grant counts although no replica has it")
	}
	resume()
	r = s.takeRetrying(t, s.nextAfter(t, r, err))
	s.deliver(t)
	if !hasLock(t, s.master, r) {
		t.Error("the late release has taken the lock from its holder: another can have it")
	}
	other := startWait(t, s.others, behind)
	release(t, s.confirmed, r)
	granted(t, other)
}

// The same with several locks at once.
func TestLateUndoOfSeveralLocks(t *testing.T) {
	t.Parallel()
	s := newFewReplicas(t)
	var batch []driver.Request
	var err error
	resume := s.pauseReplica(t)
	undone := s.interceptRelease(t, redisserver.Hold)
	for asked := false; !asked; { // a busy machine may have no time to undo it
		batch = []driver.Request{lasting(rand.Text(), time.Minute), lasting(rand.Text(), time.Minute)}
		if _, err = s.confirmed.TakeAll(t.Context(), batch); err == nil {
			t.Fatal("grants count although no replica has them")
		}
		select {
		case <-undone:
			asked = true
		default:
		}
	}
	resume()
	eventually(t, "the locks are granted", func() bool {
		for i, r := range batch {
			batch[i] = s.nextAfter(t, r, err)
		}
		_, err = s.confirmed.TakeAll(t.Context(), batch)
		return err == nil
	})
	s.deliver(t)
	for _, r := range batch {
		if !hasLock(t, s.master, r) {
			t.Errorf("the late release has taken %s from its holder", r.Name)
		}
	}
}

// If no replica confirms a hand-over in time, the waiter is still the next one, even if others wait behind it, and
// whatever has become of the release that undid the hand-over.
func TestUndoneHandOverKeepsItsTurn(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		action     redisserver.Action
		comesFirst bool // the next owner asks before the spent one is released
	}{
		"Answered":            {redisserver.Pass, false},
		"Lost":                {redisserver.CutBefore, false},
		"LostOwnerComesFirst": {redisserver.CutBefore, true},
		"ReplyLost":           {redisserver.CutAfter, false},
		"LateOwnerComesFirst": {redisserver.Hold, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newFewReplicas(t)
			first, r, behind := lasting("a", time.Minute), lasting("a", time.Minute), lasting("a", time.Minute)
			mustTake(t, s.others, first)
			r = mustJoin(t, s.confirmed, r)
			behind = mustJoin(t, s.others, behind)
			other := startWait(t, s.others, behind)
			resume := s.pauseReplica(t)
			undone := s.interceptRelease(t, c.action)
			got := startWait(t, s.confirmed, r)
			release(t, s.others, first)
			<-undone
			err := (<-got).err
			if !driver.IsSpent(err) {
				t.Fatalf("the owner may be used again after %v", err)
			}
			resume()
			next := nextOwner(r, err)
			if c.comesFirst {
				if _, err := s.confirmed.Take(t.Context(), next); !errors.Is(err, driver.ErrHeld) {
					t.Fatalf("a take before the other owner is released: %v", err)
				}
			}
			if !driver.HadNoEffect(err) {
				// it may be undone already
				_ = s.confirmed.Release(t.Context(), driver.Release{Hold: hold(r), Place: next.Place})
			}
			next = s.takeRetrying(t, next)
			select {
			case g := <-other:
				t.Fatalf("another waiter was granted the lock before it: %+v", g)
			default:
			}
			release(t, s.confirmed, next)
			granted(t, other)
		})
	}
}

// If nobody comes for a turn that is kept, the next waiter is told when to poll. Otherwise it would poll much later.
func TestUndoneHandOverThatNobodyComesFor(t *testing.T) {
	t.Parallel()
	s := newFewReplicas(t)
	first, r, behind := lasting("a", time.Minute), lasting("a", time.Minute), lasting("a", time.Minute)
	mustTake(t, s.others, first)
	r = mustJoin(t, s.confirmed, r)
	behind = mustJoin(t, s.others, behind)
	other := startWait(t, s.others, behind)
	listener := goredis.NewClient(&goredis.Options{Addr: s.master.Addr()})
	defer listener.Close()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	messages := listener.PSubscribe(ctx, redis.DefaultPrefix+"wake:*")
	defer messages.Close()
	if _, err := messages.Receive(ctx); err != nil {
		t.Fatal(err)
	}
	resume := s.pauseReplica(t)
	got := startWait(t, s.confirmed, r)
	release(t, s.others, first)
	err := (<-got).err
	// is granted for a minute, which the next waiter is told, and undone
	_, err = s.confirmed.Take(ctx, s.nextAfter(t, r, err))
	resume()
	if errors.Is(err, driver.ErrHeld) {
		granted(t, other) // the machine was so busy that the turn was over
		return
	}
	if !driver.IsSpent(err) {
		t.Fatalf("the owner may be used again after %v", err)
	}
	for last, told := 0, false; !told; {
		m, err := messages.ReceiveMessage(ctx)
		if err != nil {
			t.Fatalf("the next waiter is not told: %v", err)
		}
		var ticket string
		var ms int
		if n, _ := fmt.Sscanf(m.Payload, "h %s %d", &ticket, &ms); n == 2 {
			told = last > 3000 && ms > 0 && ms <= 3000
			last = ms
		}
	}
	granted(t, other)
}
