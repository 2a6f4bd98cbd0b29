package zookeeper

import (
	"context"
	"crypto/rand"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/internal/zookeeperserver"
)

// benchServer has the default time unit of servers.
func benchServer(b *testing.B) *zookeeperserver.Server {
	return zookeeperserver.ForTest(b, zookeeperserver.Config{Tick: 2 * time.Second})
}

// recipe connects the client library alone, for its own recipe.
func recipe(b *testing.B, s *zookeeperserver.Server) *zk.Conn {
	b.Helper()
	conn, events, err := zk.Connect([]string{s.Addr()}, DefaultSessionTimeout,
		zk.WithLogger(discardLogger{}), zk.WithLogInfo(false))
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		conn.Close()
		for range events {
		}
	})
	return conn
}

// locker locks and unlocks a name.
type locker interface {
	Lock() error
	Unlock() error
}

// leaseholdLocker locks with the engine.
type leaseholdLocker struct {
	engine *Engine
	name   string
	held   driver.Hold
}

func (l *leaseholdLocker) Lock() error {
	r := driver.Request{
		Key:    driver.Key{Kind: driver.Lock, Name: l.name},
		Owner:  rand.Text(),
		Size:   1,
		Weight: 1,
		TTL:    20 * time.Second,
		Tokens: 1,
		Holder: "bench",
		Join:   true,
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	g, err := l.engine.Take(ctx, r)
	if err == driver.ErrHeld {
		g, err = l.engine.Wait(context.Background(), r)
	}
	l.held = hold(r)
	l.held.Token = g.Token
	return err
}

func (l *leaseholdLocker) Unlock() error {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	return l.engine.Release(ctx, driver.Release{Hold: l.held})
}

// contenders are the engine and the library's own recipe. Each creates a locker, in a client of its own if apart is
// set, or in one for all.
var contenders = []struct {
	name  string
	start func(b *testing.B, s *zookeeperserver.Server) func(name string) locker
}{
	{"leasehold", func(b *testing.B, s *zookeeperserver.Server) func(string) locker {
		e := openAt(b, s)
		return func(name string) locker { return &leaseholdLocker{engine: e, name: name} }
	}},
	{"recipe", func(b *testing.B, s *zookeeperserver.Server) func(string) locker {
		conn := recipe(b, s)
		return func(name string) locker { return zk.NewLock(conn, "/recipe/"+name, zk.WorldACL(zk.PermAll)) }
	}},
}

// BenchmarkFree locks and unlocks names that nobody else wants. The contenders alternate, so that both meet the same
// conditions, and ns/op is that of both together.
func BenchmarkFree(b *testing.B) {
	const (
		pairs = 128 // of one turn
		warm  = 2048
	)
	s := benchServer(b)
	for _, goroutines := range []int{1, 64} {
		b.Run(fmt.Sprint(goroutines), func(b *testing.B) {
			lockers := make([][]locker, len(contenders))
			for i, c := range contenders {
				start := c.start(b, s)
				for n := range goroutines {
					lockers[i] = append(lockers[i], start(fmt.Sprintf("name-%d", n)))
				}
				run(b, lockers[i], warm) // creates the nodes of the recipe, and lets Java compile the code
			}
			rates := make([][]float64, len(contenders))
			b.ResetTimer()
			for b.Loop() {
				for i := range contenders {
					rates[i] = append(rates[i], pairs/run(b, lockers[i], pairs).Seconds())
				}
			}
			b.ReportMetric(median(rates[0]), "pairs/s")
			b.ReportMetric(median(rates[0])/median(rates[1]), "x-recipe")
		})
	}
}

// run locks and unlocks that many times, spread over the lockers, and returns how long it took.
func run(b *testing.B, lockers []locker, pairs int) time.Duration {
	began := time.Now()
	var all sync.WaitGroup
	for _, l := range lockers {
		all.Go(func() {
			for range pairs / len(lockers) {
				if err := l.Lock(); err != nil {
					b.Error(err)
					return
				}
				if err := l.Unlock(); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	all.Wait()
	return time.Since(began)
}

// BenchmarkContended has 16 clients take turns on one name, each a millisecond long, and measures the time from the end
// of one turn to the beginning of the next.
func BenchmarkContended(b *testing.B) {
	const clients, turns = 16, 160
	s := benchServer(b)
	queues := make([]*waiters, len(contenders))
	for i, c := range contenders {
		queues[i] = &waiters{}
		for range clients {
			queues[i].lockers = append(queues[i].lockers, c.start(b, s)("contended"))
		}
		queues[i].run(b, clients)
		queues[i].between, queues[i].rates = nil, nil
	}
	for b.Loop() {
		for _, c := range queues {
			c.run(b, turns)
		}
	}
	p50 := [2]float64{}
	for i, c := range queues {
		slices.Sort(c.between)
		p50[i] = float64(c.between[len(c.between)/2].Microseconds())
	}
	b.ReportMetric(p50[0], "µs-p50")
	b.ReportMetric(p50[0]/p50[1], "x-recipe-p50")
	b.ReportMetric(median(queues[0].rates), "turns/s")
	b.ReportMetric(median(queues[0].rates)/median(queues[1].rates), "x-recipe-turns")
}

// waiters are lockers of one name.
type waiters struct {
	lockers []locker

	mu      sync.Mutex
	left    int
	ended   time.Time
	between []time.Duration
	rates   []float64
}

// run has them take that many turns.
func (c *waiters) run(b *testing.B, turns int) {
	c.left, c.ended = turns, time.Time{}
	began := time.Now()
	var all sync.WaitGroup
	for _, l := range c.lockers {
		all.Go(func() {
			for more := true; more; {
				if err := l.Lock(); err != nil {
					b.Error(err)
					return
				}
				more = c.turn()
				if err := l.Unlock(); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	all.Wait()
	c.rates = append(c.rates, float64(turns)/time.Since(began).Seconds())
}

// turn is what the holder does. It reports whether there are more turns.
func (c *waiters) turn() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.ended.IsZero() && c.left > 0 {
		c.between = append(c.between, time.Since(c.ended))
	}
	c.left--
	if c.left >= 0 {
		time.Sleep(time.Millisecond)
	}
	c.ended = time.Now()
	return c.left > 0
}

func median(values []float64) float64 {
	slices.Sort(values)
	return values[len(values)/2]
}
