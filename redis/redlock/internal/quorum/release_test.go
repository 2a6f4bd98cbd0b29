package quorum

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/internal/quorumnode"
)

// oddNode is a node that a test makes answer late, or something else.
type oddNode struct {
	memoryNode
	take   func(do func() (driver.Grant, error), done func(driver.Grant, error)) // nil: answers at once
	wanted func() bool                                                           // nil: answers truly
}

func (o *oddNode) StartTake(ctx context.Context, r quorumnode.Request, done func(driver.Grant, error)) {
	do := func() (driver.Grant, error) { return o.TakeFrom(ctx, r) }
	if o.take == nil {
		done(do())
		return
	}
	o.take(do, done)
}

func (o *oddNode) Wanted(k driver.Key) bool {
	if o.wanted != nil {
		return o.wanted()
	}
	return o.Engine.Wanted(k)
}

// answersLate takes and answers after a while.
func answersLate(after time.Duration) func(do func() (driver.Grant, error), done func(driver.Grant, error)) {
	return func(do func() (driver.Grant, error), done func(driver.Grant, error)) {
		go func() {
			time.Sleep(after)
			done(do())
		}()
	}
}

// newWithOddNode returns a quorum of three nodes, of which the last is odd.
func newWithOddNode(t *testing.T) (*Engine, *oddNode) {
	o := &oddNode{memoryNode: newMemoryNode()}
	e := newQuorum(newMemoryNode(), newMemoryNode(), o)
	t.Cleanup(e.Close)
	return e, o
}

// state is what the node says of the name.
func (o *oddNode) state(t *testing.T) driver.Status {
	t.Helper()
	page, err := o.List(context.Background(), driver.Query{Kind: key.Kind, Name: key.Name})
	if err != nil {
		t.Fatal(err)
	}
	if len(page) == 0 {
		return driver.Status{Key: key}
	}
	return page[0]
}

// A node may have had no part in the last take of an owner, and still have something of that owner from
// before: a place in the queue, or an earlier grant. So it is released whatever the take comes to.
func TestReleaseTakesWhatIsThereFromBefore(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		before func(t *testing.T, e *Engine, o *oddNode)
		take   func(do func() (driver.Grant, error), done func(driver.Grant, error))
	}{
		"it holds": {
			func(t *testing.T, e *Engine, _ *oddNode) {
				if _, err := e.Take(t.Context(), request("owner")); err != nil {
					t.Fatal(err)
				}
			},
			func(_ func() (driver.Grant, error), done func(driver.Grant, error)) {
				go func() {
					time.Sleep(100 * ms)
					done(driver.Grant{}, driver.NoEffect(context.DeadlineExceeded)) // the take was never sent
				}()
			},
		},
		"it waits": {
			func(t *testing.T, _ *Engine, o *oddNode) {
				if _, err := o.Take(t.Context(), request("other")); err != nil {
					t.Fatal(err)
				}
				if _, err := o.Take(t.Context(), joining("owner")); !errors.Is(err, driver.ErrHeld) {
					t.Fatal(err)
				}
			},
			answersLate(100 * ms),
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				e, o := newWithOddNode(t)
				c.before(t, e, o)
				o.take = c.take
				if _, err := e.Take(t.Context(), request("owner")); err != nil {
					t.Fatal(err)
				}
				if err := e.Release(t.Context(), driver.Release{Hold: holdOf("owner")}); err != nil {
					t.Errorf("Release: %v", err)
				}
				time.Sleep(time.Second)
				s := o.state(t)
				for _, h := range s.Holders {
					if g, err := o.Take(t.Context(), request("other")); err != nil || g.Token != h.Token {
						t.Errorf("the owner still holds on the node that was late")
					}
				}
				if s.Waiting > 0 {
					t.Error("the owner still waits on the node that was late")
				}
			})
		})
	}
}

// A lock that is to stay taken for a while does so on a late node, too.
func TestReleaseKeepsOnTheLateNode(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		e, o := newWithOddNode(t)
		o.take = answersLate(100 * ms)
		if _, err := e.Take(t.Context(), request("owner")); err != nil {
			t.Fatal(err)
		}
		if err := e.Release(t.Context(), driver.Release{Hold: holdOf("owner"), Keep: 5 * time.Second}); err != nil {
			t.Errorf("Release: %v", err)
		}
		time.Sleep(time.Second)
		if _, err := o.Take(t.Context(), request("other")); !errors.Is(err, driver.ErrHeld) {
			t.Errorf("take on the late node of what is kept: %v, want ErrHeld", err)
		}
		if err := o.Release(t.Context(), driver.Release{Hold: holdOf("owner")}); !errors.Is(err, driver.ErrNotHeld) {
			t.Errorf("release on the late node by the owner: %v, want ErrNotHeld", err)
		}
		time.Sleep(5 * time.Second)
		if _, err := o.Take(t.Context(), request("other")); err != nil {
			t.Errorf("take on the late node when the time is over: %v", err)
		}
	})
}

// The late answer may come at any moment of a release, also while the release finds out who waits. The race
// detector sees what goes wrong here.
func TestLateAnswerWhileTheReleaseLooksForWaiters(t *testing.T) {
	t.Parallel()
	for range 200 {
		looks := make(chan struct{})
		o := &oddNode{
			memoryNode: newMemoryNode(),
			take: func(do func() (driver.Grant, error), done func(driver.Grant, error)) {
				go func() {
					<-looks
					done(do())
				}()
			},
		}
		var once sync.Once
		e := newQuorum(&oddNode{memoryNode: newMemoryNode(), wanted: func() bool {
			once.Do(func() { close(looks) })
			return true
		}}, newMemoryNode(), o)
		if _, err := e.Take(t.Context(), request("owner")); err != nil {
			t.Fatal(err)
		}
		if err := e.Release(t.Context(), driver.Release{Hold: holdOf("owner")}); err != nil {
			t.Errorf("Release: %v", err)
		}
		e.Close()
	}
}

// When nothing is in flight any more, what was granted late has been released.
func TestIdleWhenLateGrantsAreGone(t *testing.T) {
	t.Parallel()
	for range 2000 {
		answer := make(chan struct{})
		ctx, cancel := context.WithCancel(t.Context())
		o := &oddNode{
			memoryNode: newMemoryNode(),
			take: func(do func() (driver.Grant, error), done func(driver.Grant, error)) {
				go func() {
					cancel()
					<-answer
					done(do())
				}()
			},
		}
		first, second := newMemoryNode(), newMemoryNode()
		e := newQuorum(first, second, o)
		for _, n := range []memoryNode{first, second} {
			if _, err := n.Take(t.Context(), request("other")); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := e.Take(ctx, request("owner")); err == nil {
			t.Fatal("granted by a minority")
		}
		if e.Idle() {
			t.Fatal("idle while a node has not answered")
		}
		close(answer)
		for !e.Idle() { // without a pause, to hit the right moment
		}
		if s := o.state(t); len(s.Holders) > 0 {
			t.Fatal("the late grant is still there")
		}
		e.Close()
	}
}

// Close waits for requests in flight, for as long as they have, and may come between requests of any kind.
func TestCloseDuringRequests(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newTestQuorum(t, 3)
		e := s.client(steady)
		s.nodes[1].freeze()
		s.mustTake(e, "owner")
		s.mustRelease(e, "owner")
		if d := durationOf(e.Close); d > nodeTimeout {
			t.Errorf("Close takes %v", d)
		}
		if !e.Idle() {
			t.Error("something goes on after Close")
		}
		s.nodes[1].thaw()
		time.Sleep(time.Second)
	})
	for range 50 {
		e := newQuorum(newMemoryNode(), newMemoryNode(), newMemoryNode())
		var work sync.WaitGroup
		for i := range 4 {
			work.Go(func() {
				for j := 0; ; j++ {
					r := request(fmt.Sprint(i, " ", j))
					r.Name = r.Owner
					if _, err := e.Take(t.Context(), r); errors.Is(err, errClosed) || driver.IsPermanent(err) {
						return
					}
					_ = e.Release(t.Context(), driver.Release{Hold: driver.Hold{Key: r.Key, Owner: r.Owner}})
				}
			})
		}
		time.Sleep(time.Millisecond)
		e.Close()
		work.Wait()
	}
}
