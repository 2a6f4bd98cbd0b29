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

// scarce is a server with a replica that must confirm what one engine is granted, and another engine that asks for no replicas. What the first one sends goes
// through a proxy.
type scarce struct {
	copied
	p      *redisserver.Proxy
	x      *redis.Engine // wants the replica
	others *redis.Engine
}

func makeScarce(t *testing.T) *scarce {
	r := redisserver.ReplicatedForTest(t, 1, redisserver.Config{})
	p := redisserver.ProxyForTest(t, r.Master.Addr())
	s := &scarce{copied: copied{"", standalone(r.Master), r.Master, r.Replicas[0]}, p: p}
	s.x = unguarded(t, slow(p.Addr()), redis.WithReplicas(1, within))
	s.others = unguarded(t, standalone(r.Master))
	known := lock("to know the server")
	s.gets(t, known)
	return s
}

// slow makes a client that heeds no contexts, so that what it was told to send is sent, and that gives up after a while.
func slow(addr string) newClient {
	return func(t *testing.T) goredis.UniversalClient {
		return closed(t, goredis.NewClient(&goredis.Options{Addr: addr, MaxRetries: -1, ReadTimeout: 2 * within}))
	}
}

// onRelease does something with the next release of names that the proxy sees, and tells of it.
func (s *scarce) onRelease(t *testing.T, action redisserver.Action) <-chan struct{} {
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

// arrives lets go what was held back, and returns when the server has done it.
func (s *scarce) arrives(t *testing.T) {
	t.Helper()
	arrives(t, s.p, s.master)
}

func arrives(t *testing.T, p *redisserver.Proxy, at *redisserver.Server) {
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
	eventually(t, "what was under way arrives", func() bool { return calls() != before })
}

// again is the request with which a call goes on after an error, as the contract has it.
func again(r driver.Request, err error) driver.Request {
	if driver.IsSpent(err) {
		if r.Place == "" {
			r.Place = r.Owner
		}
		r.Owner = rand.Text()
	}
	return r
}

// goesOn does what the core does after an error: it releases an owner that is spent, and asks again as another one, at the same place.
func (s *scarce) goesOn(t *testing.T, r driver.Request, err error) driver.Request {
	t.Helper()
	next := again(r, err)
	if next.Owner != r.Owner && !driver.HadNoEffect(err) {
		if err := s.x.Release(t.Context(), driver.Release{Hold: hold(r), Place: next.Place}); err != nil && !errors.Is(err, driver.ErrNotHeld) {
			t.Fatal(err)
		}
	}
	return next
}

// gets takes what must be free but for this call, as the core does: a replica may have no time to confirm on a busy machine. It returns the owner that has it.
func (s *scarce) gets(t *testing.T, r driver.Request) driver.Request {
	t.Helper()
	eventually(t, "the call is granted the lock", func() bool {
		_, err := s.x.Take(t.Context(), r)
		if err != nil {
			r = s.goesOn(t, r, err)
		}
		return err == nil
	})
	return r
}

// The release that undoes a hand-over is under way for so long that the call has been granted the lock once more. It takes nothing from anybody.
func TestLateUndoOfAHandOver(t *testing.T) {
	t.Parallel()
	s := makeScarce(t)
	first, r, behind := lasting("a", time.Minute), lasting("a", time.Minute), lasting("a", time.Minute)
	takes(t, s.others, first)
	r = joins(t, s.x, r)
	behind = joins(t, s.others, behind)
	resume := s.stalled(t)
	undone := s.onRelease(t, redisserver.Hold)
	got := waits(t, s.x, r)
	release(t, s.others, first)
	<-undone
	err := (<-got).err
	if err == nil {
		t.Fatal("the grant counts although no replica has it")
	}
	resume()
	r = s.gets(t, s.goesOn(t, r, err))
	s.arrives(t)
	if !holds(t, s.master, r) {
		t.Error("the late release has taken the lock from its holder: another can have it")
	}
	other := waits(t, s.others, behind)
	release(t, s.x, r)
	granted(t, other)
}

// The same with several locks at once.
func TestLateUndoOfSeveralLocks(t *testing.T) {
	t.Parallel()
	s := makeScarce(t)
	var batch []driver.Request
	var err error
	resume := s.stalled(t)
	undone := s.onRelease(t, redisserver.Hold)
	for asked := false; !asked; { // a busy machine may have no time to undo it
		batch = []driver.Request{lasting(rand.Text(), time.Minute), lasting(rand.Text(), time.Minute)}
		if _, err = s.x.TakeAll(t.Context(), batch); err == nil {
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
			batch[i] = s.goesOn(t, r, err)
		}
		_, err = s.x.TakeAll(t.Context(), batch)
		return err == nil
	})
	s.arrives(t)
	for _, r := range batch {
		if !holds(t, s.master, r) {
			t.Errorf("the late release has taken %s from its holder", r.Name)
		}
	}
}

// A waiter whose hand-over no replica has confirmed in time is the next one all the same, although others have waited behind it, and whatever has become of the
// release that undid it.
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
			s := makeScarce(t)
			first, r, behind := lasting("a", time.Minute), lasting("a", time.Minute), lasting("a", time.Minute)
			takes(t, s.others, first)
			r = joins(t, s.x, r)
			behind = joins(t, s.others, behind)
			other := waits(t, s.others, behind)
			resume := s.stalled(t)
			undone := s.onRelease(t, c.action)
			got := waits(t, s.x, r)
			release(t, s.others, first)
			<-undone
			err := (<-got).err
			if !driver.IsSpent(err) {
				t.Fatalf("the owner may be used again after %v", err)
			}
			resume()
			next := again(r, err)
			if c.comesFirst {
				if _, err := s.x.Take(t.Context(), next); !errors.Is(err, driver.ErrHeld) {
					t.Fatalf("a take before the other owner is released: %v", err)
				}
			}
			if !driver.HadNoEffect(err) {
				_ = s.x.Release(t.Context(), driver.Release{Hold: hold(r), Place: next.Place}) // it may be undone already
			}
			next = s.gets(t, next)
			select {
			case g := <-other:
				t.Fatalf("another has passed it: %+v", g)
			default:
			}
			release(t, s.x, next)
			granted(t, other)
		})
	}
}

// If nobody comes for a turn that is kept, the next one is told when to look whether it is over. Else it would only look when it does so anyway.
func TestUndoneHandOverThatNobodyComesFor(t *testing.T) {
	t.Parallel()
	s := makeScarce(t)
	first, r, behind := lasting("a", time.Minute), lasting("a", time.Minute), lasting("a", time.Minute)
	takes(t, s.others, first)
	r = joins(t, s.x, r)
	behind = joins(t, s.others, behind)
	other := waits(t, s.others, behind)
	listener := goredis.NewClient(&goredis.Options{Addr: s.master.Addr()})
	defer listener.Close()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	heard := listener.PSubscribe(ctx, redis.DefaultPrefix+"wake:*")
	defer heard.Close()
	if _, err := heard.Receive(ctx); err != nil {
		t.Fatal(err)
	}
	resume := s.stalled(t)
	got := waits(t, s.x, r)
	release(t, s.others, first)
	err := (<-got).err
	_, err = s.x.Take(ctx, s.goesOn(t, r, err)) // is granted for a minute, which the next one is told, and undone
	resume()
	if errors.Is(err, driver.ErrHeld) {
		granted(t, other) // the machine was so busy that the turn was over
		return
	}
	if !driver.IsSpent(err) {
		t.Fatalf("the owner may be used again after %v", err)
	}
	for last, told := 0, false; !told; {
		m, err := heard.ReceiveMessage(ctx)
		if err != nil {
			t.Fatalf("the next one is not told: %v", err)
		}
		var ticket, ms int
		if n, _ := fmt.Sscanf(m.Payload, "h %d %d", &ticket, &ms); n == 2 {
			told = last > 3000 && ms > 0 && ms <= 3000
			last = ms
		}
	}
	granted(t, other)
}
