package redis

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/internal/quorumnode"
)

// scripts are the scripts that were sent.
func (bt *batcherTest) scripts() (sent []script) {
	bt.mu.Lock()
	defer bt.mu.Unlock()
	for _, s := range bt.calls {
		sent = append(sent, s.script)
	}
	return sent
}

// requestKinds are requests of all kinds. Not all of them can go in a batch.
func requestKinds() map[string]quorumnode.Request {
	change := func(f func(*quorumnode.Request)) quorumnode.Request {
		r := quorumnode.Request{Request: newRequest()}
		f(&r)
		return r
	}
	return map[string]quorumnode.Request{
		"a lock":                 change(func(*quorumnode.Request) {}),
		"for a reader":           change(func(r *quorumnode.Request) { r.Mode = driver.Shared }),
		"permits":                change(func(r *quorumnode.Request) { r.Kind = driver.Semaphore }),
		"several tokens":         change(func(r *quorumnode.Request) { r.Tokens = 2 }),
		"the last token":         change(func(r *quorumnode.Request) { r.Floor = driver.MaxToken }),
		"no token could be less": change(func(r *quorumnode.Request) { r.Floor = driver.MaxToken + 1 }),
	}
}

// A request that cannot go in a batch ends at its deadline, too, although a client without timeouts goes on.
func TestStartedRequestsEndAtTheirDeadline(t *testing.T) {
	t.Parallel()
	for name, r := range requestKinds() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				thaw := make(chan struct{})
				bt := newBatcherTest(t, answerAfter(thaw))
				ctx, cancel := context.WithTimeout(context.Background(), time.Second)
				defer cancel()
				took, released, kept := newOutcome(), newOutcome(), newOutcome()
				bt.e.StartTake(ctx, r, func(_ driver.Grant, err error) { took.set(err) })
				synctest.Wait() // otherwise the next one would go with it
				hold := driver.Hold{Key: r.Key, Owner: r.Owner, Mode: r.Mode}
				bt.e.StartRelease(ctx, driver.Release{Hold: hold}, released.set)
				bt.e.StartRelease(ctx, driver.Release{Hold: hold, Keep: time.Second}, kept.set)
				end, _ := ctx.Deadline()
				time.Sleep(time.Second)
				took.checkGaveUp(t, "take", end, false)
				released.checkGaveUp(t, "release", end, false)
				kept.checkGaveUp(t, "release of what is kept", end, false)
				close(thaw)
				bt.close()
			})
		})
	}
}

// A request whose deadline has passed is not sent.
func TestStartedRequestsAfterTheirDeadline(t *testing.T) {
	t.Parallel()
	for name, r := range requestKinds() {
		synctest.Test(t, func(t *testing.T) {
			bt := newBatcherTest(t, granted)
			ctx, cancel := context.WithDeadline(context.Background(), time.Now())
			defer cancel()
			hold := driver.Hold{Key: r.Key, Owner: r.Owner, Mode: r.Mode}
			took, released, kept := newOutcome(), newOutcome(), newOutcome()
			bt.e.StartTake(ctx, r, func(_ driver.Grant, err error) { took.set(err) })
			bt.e.StartRelease(ctx, driver.Release{Hold: hold}, released.set)
			bt.e.StartRelease(ctx, driver.Release{Hold: hold, Keep: time.Second}, kept.set)
			took.checkGaveUp(t, name+": take", time.Now(), true)
			released.checkGaveUp(t, name+": release", time.Now(), true)
			kept.checkGaveUp(t, name+": release of what is kept", time.Now(), true)
			if sent := bt.sent(); len(sent) > 0 {
				t.Errorf("%s: %d scripts were sent", name, len(sent))
			}
			bt.close()
		})
	}
}

// If the short script finds that a name is not free, the full script follows.
func TestStartedRequestsForWhatIsNotFree(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		bt := newBatcherTest(t, func(s *sentScript) (any, error) {
			switch s.script {
			case scriptTake:
				return []any{int64(7), int64(1), int64(0)}, nil
			case scriptRelease:
				return int64(1), nil
			}
			return int64(0), nil // use the full script
		})
		for name, start := range map[string]func() *outcome{
			"take":    func() *outcome { return bt.take(time.Second) },
			"release": func() *outcome { return bt.release(time.Second) },
		} {
			bt.calls = nil
			o := start()
			<-o.done
			if o.err != nil {
				t.Errorf("%s: %v", name, o.err)
			}
			want := []script{scriptTakeFree, scriptTake}
			if name == "release" {
				want = []script{scriptReleaseFree, scriptRelease}
			}
			if sent := bt.scripts(); !slices.Equal(sent, want) {
				t.Errorf("%s: sent %v, want %v", name, sent, want)
			}
		}
		bt.close()
	})
}

// A release of a spent owner keeps the head of the queue for the next owner, as Release does, and is then forgotten.
func TestStartedReleaseOfASpentOwner(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		bt := newBatcherTest(t, granted)
		r := newRequest()
		bt.e.spentAtHead.Add(r.Owner)
		o := newOutcome()
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		bt.e.StartRelease(ctx, driver.Release{Hold: driver.Hold{Key: r.Key, Owner: r.Owner}}, o.set)
		<-o.done
		if sent := bt.scripts(); o.err != nil || !slices.Equal(sent, []script{scriptRelease}) {
			t.Errorf("sent %v: %v, want the script that keeps the head", sent, o.err)
		}
		if bt.e.spentAtHead.Has(r.Owner) {
			t.Error("the owner is remembered for ever")
		}
		bt.close()
	})
}
