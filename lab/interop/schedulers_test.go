package interop

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/go-co-op/gocron/v2"
	"github.com/robfig/cron/v3"

	"github.com/leasehold-go/leasehold"
	"github.com/leasehold-go/leasehold/memory"
	"github.com/leasehold-go/leasehold/once"
)

// ticked counts what ran, by tick.
type ticked struct {
	mu   sync.Mutex
	runs map[time.Time]int
}

func (k *ticked) note(tick time.Time) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.runs[tick]++
}

// count returns how many ticks ran, and how many runs were more than one of a tick.
func (k *ticked) count() (ticks, again int) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, n := range k.runs {
		again += n - 1
	}
	return len(k.runs), again
}

// eachSecond is a schedule of robfig/cron.
func eachSecond(t *testing.T) cron.Schedule {
	t.Helper()
	const fields = cron.Second | cron.Minute | cron.Hour | cron.Dom | cron.Month | cron.Dow
	s, err := cron.NewParser(fields).Parse("* * * * * *")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// Three instances of a program run a schedule of their scheduler. Under a lock, each of them runs each tick, one after
// the other. With a job of package once, one of them does.
func TestSchedulersOfThreeInstances(t *testing.T) {
	s := eachSecond(t)
	for library, start := range map[string]func(t *testing.T, task func()) (stop func()){
		"robfig/cron": func(t *testing.T, task func()) func() {
			c := cron.New()
			c.Schedule(s, cron.FuncJob(task))
			c.Start()
			return func() { <-c.Stop().Done() }
		},
		"gocron": func(t *testing.T, task func()) func() {
			g, err := gocron.NewScheduler()
			if err != nil {
				t.Fatal(err)
			}
			if _, err := g.NewJob(gocron.CronJob("* * * * * *", true), gocron.NewTask(task)); err != nil {
				t.Fatal(err)
			}
			g.Start()
			return func() {
				if err := g.Shutdown(); err != nil {
					t.Error(err)
				}
			}
		},
	} {
		for way, task := range map[string]func(t *testing.T, c *leasehold.Client, k *ticked) func(){
			"lock": func(t *testing.T, c *leasehold.Client, k *ticked) func() {
				return func() {
					err := c.Mutex("report").Do(t.Context(), func(context.Context, *leasehold.Lease) error {
						k.note(time.Now().Truncate(time.Second))
						return nil
					})
					if err != nil {
						t.Error(err)
					}
				}
			},
			"once": func(t *testing.T, c *leasehold.Client, k *ticked) func() {
				job := once.New(c, "report")
				return func() {
					_, err := job.DoDue(t.Context(), s, time.Now(), func(_ context.Context, w *once.Work) error {
						k.note(w.Tick().Time())
						return nil
					})
					if err != nil {
						t.Error(err)
					}
				}
			},
		} {
			t.Run(library+"/"+way, func(t *testing.T) {
				t.Parallel()
				k := &ticked{runs: map[time.Time]int{}}
				engine := memory.New()
				for range 3 {
					c := leasehold.New(engine)
					defer c.Close()
					defer start(t, task(t, c, k))()
				}
				waitUntil(t, func() bool {
					ticks, again := k.count()
					return ticks >= 4 && (way == "once" || again > 0)
				})
				if ticks, again := k.count(); way == "once" && again > 0 {
					t.Errorf("%d ticks ran %d times more than once", ticks, again)
				} else {
					t.Logf("%d ticks, %d runs more than that", ticks, again)
				}
			})
		}
	}
}

func waitUntil(t *testing.T, is func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !is(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("not within a minute")
		}
	}
}

// gocronLock is a Locker of gocron. Instances that ask one after the other get the lock, all of them.
type gocronLock struct{ client *leasehold.Client }

func (g gocronLock) Lock(ctx context.Context, key string) (gocron.Lock, error) {
	lease, err := g.client.Mutex(key).TryLock(ctx)
	if err != nil {
		return nil, err
	}
	return gocronHeld{lease}, nil
}

type gocronHeld struct{ lease *leasehold.Lease }

func (g gocronHeld) Unlock(context.Context) error { return g.lease.Release() }

// The Locker that gocron has for many instances is a lock, too: an instance whose clock is a little late runs the tick
// again.
func TestLockerOfGocronRunsTicksAgain(t *testing.T) {
	t.Parallel()
	k := &ticked{runs: map[time.Time]int{}}
	engine := memory.New()
	for i := range 2 {
		c := leasehold.New(engine)
		defer c.Close()
		g, err := gocron.NewScheduler(gocron.WithDistributedLocker(gocronLock{c}))
		if err != nil {
			t.Fatal(err)
		}
		late := time.Duration(i) * 50 * time.Millisecond // of the clock
		task := gocron.NewTask(func() { k.note(time.Now().Add(-late).Truncate(time.Second)) })
		_, err = g.NewJob(gocron.DurationJob(time.Second), task, gocron.WithName("report"),
			gocron.WithStartAt(gocron.WithStartDateTime(time.Now().Truncate(time.Second).Add(2*time.Second+late))))
		if err != nil {
			t.Fatal(err)
		}
		g.Start()
		defer func() {
			if err := g.Shutdown(); err != nil {
				t.Error(err)
			}
		}()
	}
	waitUntil(t, func() bool { _, again := k.count(); return again > 0 })
}
