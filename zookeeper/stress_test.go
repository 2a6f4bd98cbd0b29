package zookeeper

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/leasehold-go/leasehold/driver"
)

// exclusionChecker checks from the holders' point of view that a name has one holder at a time.
type exclusionChecker struct {
	inside atomic.Int32
	last   atomic.Uint64
}

// enter is what the holder does. Nobody else may be inside, and tokens grow.
func (r *exclusionChecker) enter(t *testing.T, token uint64) {
	if n := r.inside.Add(1); n != 1 {
		t.Errorf("%d hold at the same time", n)
	}
	if last := r.last.Swap(token); last >= token {
		t.Errorf("token %d follows %d", token, last)
	}
	if rand.IntN(4) == 0 {
		time.Sleep(time.Duration(rand.IntN(500)) * time.Microsecond)
	}
	r.inside.Add(-1)
}

// Names that are hardly ever held, and hardly ever free: their nodes go with the last to leave, while others join. Some
// give up at once, some while they wait, and some never ask again after they have joined.
func TestNodesGoWhileOthersCome(t *testing.T) {
	t.Parallel()
	const engines, callers, names, turns = 3, 4, 2, 25
	s := server(t)
	checkers := make([]exclusionChecker, names)
	var granted atomic.Int32
	var all sync.WaitGroup
	var open []*Engine
	for range engines {
		e := openAt(t, s)
		open = append(open, e)
		for range callers {
			all.Go(func() {
				for range turns {
					i := rand.IntN(names)
					token, err := takeTurn(t, e, &checkers[i], fmt.Sprint(i))
					switch {
					case token != 0:
						granted.Add(1)
					case err == nil, errors.Is(err, driver.ErrHeld), isSlow(err):
					case errors.Is(err, context.DeadlineExceeded):
					default:
						t.Error(err)
					}
				}
			})
		}
	}
	all.Wait()
	if granted.Load() < engines*callers*turns/4 {
		t.Errorf("only %d of %d were granted what they wanted", granted.Load(), engines*callers*turns)
	}
	for i := range names {
		k := lock(t, fmt.Sprint(i)).Key
		eventually(t, "the node of the name is gone", func() bool {
			stat, err := open[0].client.exists(t.Context(), open[0].nameNode(k))
			return err == nil && stat == nil
		})
	}
}

// isSlow reports whether the outcome is unknown because the server has not answered for seconds, as on a very busy
// machine.
func isSlow(err error) bool {
	return errors.Is(err, zk.ErrConnectionClosed) || errors.Is(err, errNoAnswer) || errors.Is(err, errNoSession)
}

// takeTurn is one attempt to hold the name for a moment. It returns the token if it has succeeded.
func takeTurn(t *testing.T, e *Engine, r *exclusionChecker, name string) (token uint64, err error) {
	want := lock(t, name)
	want.Join = rand.IntN(4) > 0
	g, err := e.Take(t.Context(), want)
	if errors.Is(err, driver.ErrHeld) && want.Join && rand.IntN(6) > 0 {
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		if rand.IntN(4) == 0 {
			cancel()
			ctx, cancel = context.WithTimeout(t.Context(), time.Duration(rand.IntN(3000))*time.Microsecond)
		}
		g, err = e.Wait(ctx, want)
		cancel()
	}
	if err == nil {
		r.enter(t, g.Token)
		token = g.Token
	}
	released := e.Release(context.Background(), driver.Release{Hold: hold(want)})
	if isSlow(released) { // it continues in the background
		return token, err
	}
	if held := err == nil; held && released != nil || released != nil && !errors.Is(released, driver.ErrNotHeld) {
		t.Errorf("Release of one who holds (%v): %v", held, released)
	}
	return token, err
}
