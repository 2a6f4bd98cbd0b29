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

// benchServer has the time unit that servers have by default.
func benchServer(b *testing.B) *zookeeperserver.Server {
	return zookeeperserver.ForTest(b, zookeeperserver.Config{Tick: 2 * time.Second})
}

// recipe connects the client alone, for its own recipe.
func recipe(b *testing.B, s *zookeeperserver.Server) *zk.Conn {
	b.Helper()
	conn, events, err := zk.Connect([]string{s.Addr()}, DefaultSessionTimeout, zk.WithLogger(nowhere{}), zk.WithLogInfo(false))
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

// locker is one who locks and unlocks a name.
type locker interface {
	Lock() error
	Unlock() error
}

// ours locks with the engine.
type ours struct {
	engine *Engine
	name   string
	held   driver.Hold
}

func (o *ours) Lock() error {
	r := driver.Request{
		Key: driver.Key{Kind: driver.Lock, Name: o.name}, Owner: rand.Text(), Size: 1, Weight: 1, TTL: 20 * time.Second, Tokens: 1, Holder: "bench", Join: true,
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	g, err := o.engine.Take(ctx, r)
	if err == driver.ErrHeld {
		g, err = o.engine.Wait(context.Background(), r)
	}
	o.held = hold(r)
	o.held.Token = g.Token
	return err
}

func (o *ours) Unlock() error {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	return o.engine.Release(ctx, driver.Release{Hold: o.held})
}

// contenders are the engine and the client's own recipe, each as a way to make a locker in a client of its own, if apart, or in one for all.
var contenders = []struct {
	name  string
	start func(b *testing.B, s *zookeeperserver.Server) func(name string) locker
}{
	{"leasehold", func(b *testing.B, s *zookeeperserver.Server) func(string) locker {
		e := openAt(b, s)
		return func(name string) locker { return &ours{engine: e, name: name} }
	}},
	{"recipe", func(b *testing.B, s *zookeeperserver.Server) func(string) locker {
		conn := recipe(b, s)
		return func(name string) locker { return zk.NewLock(conn, "/recipe/"+name, zk.WorldACL(zk.PermAll)) }
	}},
}

// BenchmarkFree locks and unlocks names that nobody else wants. The contenders take turns of pairs, so that both meet the same weather, and ns/op is
// that of both.
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
				run(b, lockers[i], warm) // which makes the nodes of the recipe, and lets Java translate what is used
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

// run locks and unlocks so many times, spread over the lockers, and returns how long that has taken.
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

// BenchmarkCrowd lets 16 clients take turns on one name, each a millisecond long, and measures the time from the end of one to the beginning of the next.
func BenchmarkCrowd(b *testing.B) {
	const clients, turns = 16, 160
	s := benchServer(b)
	crowds := make([]*crowd, len(contenders))
	for i, c := range contenders {
		crowds[i] = &crowd{}
		for range clients {
			crowds[i].lockers = append(crowds[i].lockers, c.start(b, s)("crowd"))
		}
		crowds[i].run(b, clients)
		crowds[i].between, crowds[i].rates = nil, nil
	}
	for b.Loop() {
		for _, c := range crowds {
			c.run(b, turns)
		}
	}
	p50 := [2]float64{}
	for i, c := range crowds {
		slices.Sort(c.between)
		p50[i] = float64(c.between[len(c.between)/2].Microseconds())
	}
	b.ReportMetric(p50[0], "µs-p50")
	b.ReportMetric(p50[0]/p50[1], "x-recipe-p50")
	b.ReportMetric(median(crowds[0].rates), "turns/s")
	b.ReportMetric(median(crowds[0].rates)/median(crowds[1].rates), "x-recipe-turns")
}

// crowd are lockers of one name.
type crowd struct {
	lockers []locker

	mu      sync.Mutex
	left    int
	ended   time.Time
	between []time.Duration
	rates   []float64
}

// run lets them have so many turns.
func (c *crowd) run(b *testing.B, turns int) {
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

// turn is what the one does that holds. It reports whether there are more turns.
func (c *crowd) turn() bool {
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
