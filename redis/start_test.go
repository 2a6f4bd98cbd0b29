package redis

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/leasehold-go/leasehold/driver"
)

// scripts are those that were sent.
func (d *desk) scripts() (sent []script) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, s := range d.calls {
		sent = append(sent, s.script)
	}
	return sent
}

// kinds are requests for all that there is. Not all of them can go together with others.
func kinds() map[string]driver.Request {
	change := func(f func(*driver.Request)) driver.Request {
		r := asking()
		f(&r)
		return r
	}
	return map[string]driver.Request{
		"a lock":                 asking(),
		"for a reader":           change(func(r *driver.Request) { r.Mode = driver.Shared }),
		"permits":                change(func(r *driver.Request) { r.Kind = driver.Semaphore }),
		"several tokens":         change(func(r *driver.Request) { r.Tokens = 2 }),
		"the last token":         change(func(r *driver.Request) { r.Floor = driver.MaxToken }),
		"no token could be less": change(func(r *driver.Request) { r.Floor = driver.MaxToken + 1 }),
	}
}

// What cannot go together with others ends at its deadline, too, although a client without timeouts goes on.
func TestStartedRequestsEndAtTheirDeadline(t *testing.T) {
	t.Parallel()
	for name, r := range kinds() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				thaw := make(chan struct{})
				d := newDesk(t, stuck(thaw))
				ctx, cancel := context.WithTimeout(context.Background(), time.Second)
				defer cancel()
				took, released, kept := newOutcome(), newOutcome(), newOutcome()
				d.e.StartTake(ctx, r, func(_ driver.Grant, err error) { took.set(err) })
				synctest.Wait() // the next one is not to go with it
				hold := driver.Hold{Key: r.Key, Owner: r.Owner, Mode: r.Mode}
				d.e.StartRelease(ctx, driver.Release{Hold: hold}, released.set)
				d.e.StartRelease(ctx, driver.Release{Hold: hold, Keep: time.Second}, kept.set)
				end, _ := ctx.Deadline()
				time.Sleep(time.Second)
				took.gaveUp(t, "take", end, false)
				released.gaveUp(t, "release", end, false)
				kept.gaveUp(t, "release of what is kept", end, false)
				close(thaw)
				d.close()
			})
		})
	}
}

// What comes when its time is over is not sent.
func TestStartedRequestsAfterTheirDeadline(t *testing.T) {
	t.Parallel()
	for name, r := range kinds() {
		synctest.Test(t, func(t *testing.T) {
			d := newDesk(t, granted)
			ctx, cancel := context.WithDeadline(context.Background(), time.Now())
			defer cancel()
			hold := driver.Hold{Key: r.Key, Owner: r.Owner, Mode: r.Mode}
			took, released, kept := newOutcome(), newOutcome(), newOutcome()
			d.e.StartTake(ctx, r, func(_ driver.Grant, err error) { took.set(err) })
			d.e.StartRelease(ctx, driver.Release{Hold: hold}, released.set)
			d.e.StartRelease(ctx, driver.Release{Hold: hold, Keep: time.Second}, kept.set)
			took.gaveUp(t, name+": take", time.Now(), true)
			released.gaveUp(t, name+": release", time.Now(), true)
			kept.gaveUp(t, name+": release of what is kept", time.Now(), true)
			if sent := d.sent(); len(sent) > 0 {
				t.Errorf("%s: %d scripts were sent", name, len(sent))
			}
			d.close()
		})
	}
}

// Which scripts it takes to tell that a name is not free, and whom it is granted to or released by then.
func TestStartedRequestsForWhatIsNotFree(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t, func(s *shipment) (any, error) {
			switch s.script {
			case take:
				return []any{int64(7), int64(1), int64(0)}, nil
			case release:
				return int64(1), nil
			}
			return int64(0), nil // ask with the whole script
		})
		for name, start := range map[string]func() *outcome{
			"take":    func() *outcome { return d.take(time.Second) },
			"release": func() *outcome { return d.release(time.Second) },
		} {
			d.calls = nil
			o := start()
			<-o.done
			if o.err != nil {
				t.Errorf("%s: %v", name, o.err)
			}
			want := []script{takeFree, take}
			if name == "release" {
				want = []script{releaseFree, release}
			}
			if sent := d.scripts(); !slices.Equal(sent, want) {
				t.Errorf("%s: sent were %v, want %v", name, sent, want)
			}
		}
		d.close()
	})
}

// A release of a spent owner whose turn it was hands the turn over, as Release does, and is then forgotten.
func TestStartedReleaseOfASpentOwner(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t, granted)
		r := asking()
		d.e.turns.Add(r.Owner)
		o := newOutcome()
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		d.e.StartRelease(ctx, driver.Release{Hold: driver.Hold{Key: r.Key, Owner: r.Owner}}, o.set)
		<-o.done
		if sent := d.scripts(); o.err != nil || !slices.Equal(sent, []script{release}) {
			t.Errorf("sent were %v: %v, want the script that keeps a turn", sent, o.err)
		}
		if d.e.turns.Has(r.Owner) {
			t.Error("the owner is remembered for ever")
		}
		d.close()
	})
}
