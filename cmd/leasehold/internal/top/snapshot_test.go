package top

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/leasehold-go/leasehold"
	"github.com/leasehold-go/leasehold/admin"
	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/memory"
)

// walkEngine is an engine whose listing comes from a function.
type walkEngine struct {
	driver.Engine
	driver.Unsupported
	walk func(ctx context.Context, q driver.Query, visit func([]driver.Status) bool) error
}

func (w walkEngine) Abilities() driver.Abilities { return driver.Abilities{Name: "walker", Walk: true} }

func (w walkEngine) Walk(ctx context.Context, q driver.Query, visit func([]driver.Status) bool) error {
	return w.walk(ctx, q, visit)
}

func takeSnapshotOf(t *testing.T, w walkEngine, v view) (snapshot, []progress, error) {
	t.Helper()
	c := admin.New(w)
	var reports []progress
	p, err := takeSnapshot(t.Context(), c, admin.Query{}, v, func(so progress) { reports = append(reports, so) })
	return p, reports, err
}

// endless lists names without end. Each has more waiters than the one before.
func endless(ctx context.Context, q driver.Query, visit func([]driver.Status) bool) error {
	q.Progress(7)
	piece := make([]driver.Status, 100)
	holders := lock("", "h", 1, time.Minute, 0, 0).Holders
	for i := 0; ; i += len(piece) {
		for j := range piece {
			piece[j] = driver.Status{Key: driver.Key{Kind: driver.Lock, Name: strconv.Itoa(i + j)}, Holders: holders,
				Waiting: i + j}
		}
		if !visit(piece) {
			return nil
		}
	}
}

func TestAListingHasALimit(t *testing.T) {
	t.Parallel()
	p, reports, err := takeSnapshotOf(t, walkEngine{walk: endless}, view{})
	if err != nil || p.names != maxNames || p.held != maxNames || p.matching != maxNames || !p.cut ||
		len(p.leases) != maxNames {
		t.Fatalf("%v: %d names, %d held, %d match, cut %v", err, p.names, p.held, p.matching, p.cut)
	}
	if len(p.rows) != maxRows || cap(p.rows) > 8*maxRows || p.rows[0].Waiting != maxNames-1 ||
		p.rows[maxRows-1].Waiting != maxNames-maxRows {
		t.Errorf("%d rows, from %+v", len(p.rows), p.rows[0])
	}
	if reports[0] != (progress{keys: 7}) || len(reports) != 1+maxNames/progressStep ||
		!slices.Contains(reports, progress{names: maxNames / 2}) {
		t.Errorf("%d reports, the first of which is %+v", len(reports), reports[0])
	}
}

func TestAListingHasATimeLimit(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p, _, err := takeSnapshotOf(t,
			walkEngine{walk: func(ctx context.Context, _ driver.Query, visit func([]driver.Status) bool) error {
				visit([]driver.Status{lock("a", "h", 1, time.Minute, 0, 3)})
				<-ctx.Done()
				return ctx.Err()
			}}, view{})
		if err != nil || !p.cut || p.names != 1 || p.waiting != 3 || p.took != maxListTime {
			t.Errorf("%v: %+v", err, p)
		}
		_, _, err = takeSnapshotOf(t,
			walkEngine{walk: func(ctx context.Context, _ driver.Query, _ func([]driver.Status) bool) error {
				<-ctx.Done()
				return ctx.Err()
			}}, view{})
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("nothing in time: %v", err)
		}
	})
}

// A listing that fails half way has not counted everything: it counts for nothing.
func TestAListingThatFails(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	_, _, err := takeSnapshotOf(t,
		walkEngine{walk: func(_ context.Context, _ driver.Query, visit func([]driver.Status) bool) error {
			visit([]driver.Status{lock("a", "h", 1, time.Minute, 0, 3)})
			return broken
		}}, view{})
	if !errors.Is(err, broken) {
		t.Errorf("%v", err)
	}
}

func TestAListingOfARealEngine(t *testing.T) {
	t.Parallel()
	e := memory.New()
	locker := leasehold.New(e, leasehold.WithHolder("build-7:4711 deployer"))
	defer locker.Close()
	for i := range 30 {
		if _, err := locker.Mutex(fmt.Sprintf("a%d", i)).TryLock(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := locker.Semaphore("s", 3).TryAcquire(t.Context(), 2); err != nil {
		t.Fatal(err)
	}
	c := admin.New(e)
	p, err := takeSnapshot(t.Context(), c, admin.Query{Prefix: "a1"}, view{sort: byName, filter: "A12"},
		func(progress) {})
	if err != nil || p.names != 11 || p.held != 11 || p.matching != 1 || p.rows[0].Name != "a12" || p.cut {
		t.Errorf("%v: %+v", err, p)
	}
	p, err = takeSnapshot(t.Context(), c, admin.Query{}, view{filter: "build-7"}, func(progress) {})
	if err != nil || p.names != 31 || p.matching != 31 {
		t.Errorf("%v: %+v", err, p)
	}
	d, err := inspect(t.Context(), c, driver.Key{Kind: driver.Semaphore, Name: "s"})
	if err != nil || len(d.status.Holders) != 1 || d.status.Holders[0].Weight != 2 || len(d.votes) != 0 {
		t.Errorf("%v: %+v", err, d)
	}
}

func TestChanges(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		a, b              []uint64
		granted, released int
	}{
		{nil, nil, 0, 0}, {nil, []uint64{1}, 1, 0}, {[]uint64{1, 2}, nil, 0, 2},
		{[]uint64{1, 3, 5}, []uint64{2, 3, 6, 7}, 3, 2}, {[]uint64{4}, []uint64{4}, 0, 0},
	} {
		if granted, released := countChanges(c.a, c.b); granted != c.granted || released != c.released {
			t.Errorf("from %v to %v: %d and %d", c.a, c.b, granted, released)
		}
	}
}
