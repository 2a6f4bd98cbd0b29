package fencing

import (
	"context"
	"errors"
	"math/rand/v2"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/leasehold-go/leasehold"
	"github.com/leasehold-go/leasehold/fence"
	"github.com/leasehold-go/leasehold/memory"
	"github.com/leasehold-go/leasehold/redis/redisfence"
)

// counter is a number in a store. Each of its methods adds one to the number that it has read, and
// calls pause between reading and writing.
type counter struct {
	unfenced func(ctx context.Context, pause func()) error
	// fenced are ways to add with a token. In some, a pause keeps others from raising the mark.
	fenced []fencedAdd
	value  func(t *testing.T) int
}

type fencedAdd struct {
	add func(ctx context.Context, token uint64, pause func()) error
	// keeps: nobody else can write during the pause.
	keeps bool
}

// Eight workers add one a thousand times under a lock, and pause from time to time for longer than
// their lease lasts. Without tokens additions are lost, with them none is.
func TestThousandIncrements(t *testing.T) {
	t.Parallel()
	for store, open := range map[string]func(t *testing.T) counter{
		"PostgreSQL": func(t *testing.T) counter { return rowCounter(t, openPostgres(t)) },
		"SQLite":     func(t *testing.T) counter { return rowCounter(t, openSQLite(t, waits)) },
		"Redis":      redisCounter,
	} {
		t.Run(store, func(t *testing.T) {
			t.Parallel()
			t.Run("unfenced", func(t *testing.T) {
				t.Parallel()
				c := open(t)
				r := increment(t,
					func(ctx context.Context, _ uint64, pause func()) error { return c.unfenced(ctx, pause) }, nil)
				lost := increments - c.value(t)
				t.Logf("%d pauses, %d of %d additions lost", r.pauses, lost, increments)
				if lost <= 0 || r.refused > 0 {
					t.Errorf("%d additions are lost, %d refused: nothing is shown", lost, r.refused)
				}
			})
			t.Run("fenced", func(t *testing.T) {
				t.Parallel()
				c := open(t)
				var pick atomic.Uint64
				r := increment(t, nil, func() fencedAdd { return c.fenced[pick.Add(1)%uint64(len(c.fenced))] })
				lost := increments - c.value(t)
				t.Logf("%d pauses, %d of %d additions lost, %d refused and done again", r.pauses, lost, increments,
					r.refused)
				if lost != 0 || r.refused == 0 {
					t.Errorf("%d additions are lost, %d refused: want 0, and some", lost, r.refused)
				}
			})
		})
	}
}

const (
	increments = 1000
	workers    = 8
	ttl        = 200 * time.Millisecond
	// On average a worker pauses once in onePauseIn turns. There is time for maxPauses in all.
	// Each makes the others wait for the rest of a lease.
	onePauseIn, maxPauses = 40, 16
	// maxPaused is how many may pause at the same time. Nobody pauses when fewer than lastPause
	// additions are left. So others go on working, for whom a paused worker waits.
	maxPaused, lastPause = 4, 100
)

// report is the outcome of a thousand increments.
type report struct{ pauses, refused int64 }

// incrementers are the workers.
type incrementers struct {
	unbegun atomic.Int64 // additions that have not begun
	grants  atomic.Int64
	written atomic.Int64

	mu      sync.Mutex
	changed chan struct{} // closed when grants or written have grown

	pausing atomic.Int64
	report  struct{ pauses, refused atomic.Int64 }
}

func (c *incrementers) increase(n *atomic.Int64) {
	n.Add(1)
	c.mu.Lock()
	defer c.mu.Unlock()
	close(c.changed)
	c.changed = make(chan struct{})
}

// awaitMore waits until n is larger than than.
func (c *incrementers) awaitMore(t *testing.T, n *atomic.Int64, than int64) {
	late := time.After(patience)
	for {
		c.mu.Lock()
		changed := c.changed
		c.mu.Unlock()
		if n.Load() > than {
			return
		}
		select {
		case <-changed:
		case <-late:
			t.Error("during a pause nobody else gets on")
			return
		}
	}
}

// mayPause reports whether a worker pauses now, and counts it if so.
func (c *incrementers) mayPause() bool {
	if rand.IntN(onePauseIn) != 0 || c.unbegun.Load() < lastPause {
		return false
	}
	if c.pausing.Add(1) > maxPaused || c.report.pauses.Add(1) > maxPauses {
		c.pausing.Add(-1)
		return false
	}
	return true
}

// increment lets the workers add one, always with add, or each time in a way that pick returns.
func increment(
	t *testing.T, add func(ctx context.Context, token uint64, pause func()) error, pick func() fencedAdd,
) report {
	t.Helper()
	engine := memory.New()
	c := &incrementers{changed: make(chan struct{})}
	c.unbegun.Store(increments)
	var work sync.WaitGroup
	for range workers {
		work.Go(func() {
			client := leasehold.New(engine) // as if it were another process
			defer client.Close()
			for c.unbegun.Add(-1) >= 0 {
				for {
					way := fencedAdd{add: add}
					if pick != nil {
						way = pick()
					}
					err := c.incrementOnce(t, client, way)
					if err == nil {
						break
					}
					if !errors.Is(err, fence.ErrStale) {
						t.Errorf("adding: %v", err)
						return
					}
					c.report.refused.Add(1)
				}
			}
		})
	}
	work.Wait()
	return report{min(c.report.pauses.Load(), maxPauses), c.report.refused.Load()}
}

// incrementOnce adds one under a lease. A worker that pauses does so until its lease has ended,
// another one has the lock, and, if it can, has written. When it continues, it does not check its
// lease, since any program can pause between its last check and the write.
func (c *incrementers) incrementOnce(t *testing.T, client *leasehold.Client, way fencedAdd) error {
	ctx := t.Context()
	options := []leasehold.Option{leasehold.TTL(ttl)}
	stops := c.mayPause()
	if stops {
		defer c.pausing.Add(-1)
		options = append(options, leasehold.NoRenew()) // a paused process renews nothing
	}
	lease, err := client.Mutex("counter", options...).Lock(ctx)
	if err != nil {
		return err
	}
	defer lease.Release() // it may be lost
	c.increase(&c.grants)
	err = way.add(ctx, lease.Token(), func() {
		if !stops {
			return
		}
		grants, written := c.grants.Load(), c.written.Load()
		<-lease.Context().Done()
		if way.keeps {
			c.awaitMore(t, &c.grants, grants)
		} else {
			c.awaitMore(t, &c.written, written)
		}
	})
	if err == nil {
		c.increase(&c.written)
	}
	return err
}

func rowCounter(t *testing.T, d database) counter {
	d.exec(t, "INSERT INTO account (id, value) VALUES (1, '0')")
	read := func(ctx context.Context, db fence.Executor) (n int, err error) {
		err = db.QueryRowContext(ctx, readRow, 1).Scan(&n)
		return n, err
	}
	write := func(ctx context.Context, db fence.Executor, n int) error {
		return written(db.ExecContext(ctx, writeRow, strconv.Itoa(n), 1))
	}
	once := func(m fence.Mark) fencedAdd {
		return fencedAdd{keeps: true, add: func(ctx context.Context, token uint64, pause func()) error {
			return fence.Do(ctx, d, m, token, func(tx *fence.Guard) error {
				n, err := read(ctx, tx)
				if err != nil {
					return err
				}
				pause()
				return write(ctx, tx, n+1)
			})
		}}
	}
	twice := func(m fence.Mark) fencedAdd {
		return fencedAdd{add: func(ctx context.Context, token uint64, pause func()) error {
			var n int
			err := fence.Do(ctx, d, m, token, func(tx *fence.Guard) (err error) {
				n, err = read(ctx, tx)
				return err
			})
			if err != nil {
				return err
			}
			pause()
			return fence.Do(ctx, d, m, token, func(tx *fence.Guard) error { return write(ctx, tx, n+1) })
		}}
	}
	return counter{
		unfenced: func(ctx context.Context, pause func()) error {
			n, err := read(ctx, d)
			if err != nil {
				return err
			}
			pause()
			return write(ctx, d, n+1)
		},
		// All of them use the same mark.
		fenced: []fencedAdd{twice(account.Mark(1)), twice(account.Mark(1)), twice(account.Mark(1)),
			once(account.Mark(1))},
		value: func(t *testing.T) int {
			n, err := read(t.Context(), d)
			noErr(t, err)
			return n
		},
	}
}

func redisCounter(t *testing.T) counter {
	client := openRedis(t)
	const key = "counter"
	noErr(t, client.Set(t.Context(), key, 0, 0).Err())
	return counter{
		unfenced: func(ctx context.Context, pause func()) error {
			n, err := client.Get(ctx, key).Int()
			if err != nil {
				return err
			}
			pause()
			return client.Set(ctx, key, n+1, 0).Err()
		},
		fenced: []fencedAdd{{add: func(ctx context.Context, token uint64, pause func()) error {
			g, err := redisfence.Raise(ctx, client, redisfence.Beside(key), token)
			if err != nil {
				return err
			}
			text, err := g.Get(ctx, key)
			if err != nil {
				return err
			}
			n, err := strconv.Atoi(text)
			if err != nil {
				return err
			}
			pause()
			return g.Set(ctx, key, n+1)
		}}},
		value: func(t *testing.T) int { return number(t, client.Get(t.Context(), key)) },
	}
}

func number(t *testing.T, c *goredis.StringCmd) int {
	t.Helper()
	n, err := c.Int()
	noErr(t, err)
	return n
}
