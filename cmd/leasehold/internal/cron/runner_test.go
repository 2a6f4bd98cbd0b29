//go:build unix

package cron

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/leasehold-go/leasehold/cmd/leasehold/internal/crontab"
	"github.com/leasehold-go/leasehold/cmd/leasehold/internal/exit"
	"github.com/leasehold-go/leasehold/once"
)

// fakeChild waits for the lock, runs, and ends.
type fakeChild struct {
	granted, ended chan struct{}
	once           sync.Once
	code           int
	signals        func()
}

func (c *fakeChild) Granted() <-chan struct{} { return c.granted }
func (c *fakeChild) Ended() <-chan struct{}   { return c.ended }
func (c *fakeChild) ExitCode() int            { return c.code }

func (c *fakeChild) end(code int) { c.once.Do(func() { c.code = code; close(c.ended) }) }

func (c *fakeChild) Signal(s syscall.Signal) { c.signals(); c.end(exit.Signal(int(s))) }

// bench runs one hourly job, from half past an hour on, and notes in minutes what happens when.
type bench struct {
	mu     sync.Mutex
	began  time.Time
	events []string
	starts int
}

func (b *bench) note(format string, args ...any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	at := time.Since(b.began).Round(time.Second)
	b.events = append(b.events, fmt.Sprintf("%s %v", fmt.Sprintf(format, args...), at))
}

// start returns a child that gets the lock after wait, unless that is negative, and ends with a code after work.
func (b *bench) start(wait, work time.Duration, code int) Child {
	c := &fakeChild{granted: make(chan struct{}), ended: make(chan struct{})}
	c.signals = func() { b.note("signal") }
	b.note("start")
	go func() {
		if wait >= 0 {
			time.Sleep(wait)
			close(c.granted)
		}
		time.Sleep(work)
		c.end(code)
	}()
	return c
}

// run runs until a time, with children that child makes of their number.
func (b *bench) run(t *testing.T, until time.Duration, r Runner, j crontab.Job, child func(n int) Child) {
	t.Helper()
	time.Sleep(time.Until(time.Now().Truncate(time.Hour).Add(90 * time.Minute)))
	b.began = time.Now()
	ctx, cancel := context.WithTimeout(t.Context(), until)
	defer cancel()
	j.Name, j.Ticks = "job", once.Every(time.Hour)
	r.Jobs, r.Log, r.Metrics = []crontab.Job{j}, t.Logf, NewMetrics([]crontab.Job{j})
	r.Start = func(crontab.Job) (Child, error) {
		b.starts++
		if c := child(b.starts); c != nil {
			return c, nil
		}
		b.note("cannot start")
		return nil, errors.New("on purpose")
	}
	r.Run(ctx)
	b.note("end")
}

func TestTicksStartChildren(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		job   crontab.Options
		child func(b *bench, n int) Child
		want  []string
	}{
		"each": {
			child: func(b *bench, _ int) Child { return b.start(0, time.Minute, 0) },
			want:  []string{"start 30m0s", "start 1h30m0s", "start 2h30m0s", "end 3h0m0s"},
		},
		"elsewhere": {
			child: func(b *bench, _ int) Child { return b.start(-1, time.Minute, 0) },
			want:  []string{"start 30m0s", "start 1h30m0s", "start 2h30m0s", "end 3h0m0s"},
		},
		"what is due meanwhile runs afterwards, once": {
			child: func(b *bench, n int) Child {
				if n == 1 {
					return b.start(0, 125*time.Minute, 0)
				}
				return b.start(0, time.Minute, 0)
			},
			want: []string{"start 30m0s", "start 2h35m0s", "end 3h0m0s"},
		},
		"catching up begins at once": {
			job:   crontab.Options{CatchUp: true},
			child: func(b *bench, _ int) Child { return b.start(0, 0, 0) },
			want:  []string{"start 0s", "start 30m0s", "start 1h30m0s", "start 2h30m0s", "end 3h0m0s"},
		},
		"a failure is final": {
			child: func(b *bench, _ int) Child { return b.start(0, 0, 7) },
			want:  []string{"start 30m0s", "start 1h30m0s", "start 2h30m0s", "end 3h0m0s"},
		},
		"unless it is retried": {
			job: crontab.Options{RetryFailed: true},
			child: func(b *bench, n int) Child {
				if n < 4 {
					return b.start(0, 0, 7)
				}
				return b.start(0, 0, 0)
			},
			want: []string{"start 30m0s", "start 30m1s", "start 30m3s", "start 30m7s", "start 1h30m0s", "start 2h30m0s",
				"end 3h0m0s"},
		},
		"what was cut short, and what cannot be": {
			child: func(b *bench, n int) Child {
				switch n {
				case 1:
					return b.start(0, 0, exit.Lost)
				case 2:
					return b.start(0, 0, exit.Signal(9))
				case 3:
					return b.start(-1, 0, exit.Unavailable)
				case 4:
					return nil
				case 6:
					return b.start(-1, 0, exit.Config)
				}
				return b.start(0, 0, 0)
			},
			want: []string{"start 30m0s", "start 30m1s", "start 30m3s", "cannot start 30m7s", "start 30m15s",
				"start 1h30m0s", "start 2h30m0s", "end 3h0m0s"},
		},
		"jitter": {
			job:   crontab.Options{Jitter: time.Hour},
			child: func(b *bench, _ int) Child { return b.start(0, 0, 0) },
			want:  []string{"start 39m44s", "start 1h39m44s", "start 2h39m44s", "end 3h0m0s"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var b bench
				child := func(n int) Child { return c.child(&b, n) }
				b.run(t, 3*time.Hour, Runner{}, crontab.Job{Options: c.job}, child)
				if !slices.Equal(b.events, c.want) {
					t.Errorf("%q, want %q", b.events, c.want)
				}
			})
		})
	}
}

// A command that runs has the grace, unless there is hurry. A child that waits for the lock has nothing to end.
func TestEnd(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		wait, work time.Duration
		hurry      time.Duration
		want       []string
	}{
		"waits":             {time.Hour, 0, time.Hour, []string{"start 30m0s", "signal 40m0s", "end 40m0s"}},
		"runs":              {0, time.Hour, time.Hour, []string{"start 30m0s", "signal 45m0s", "end 45m0s"}},
		"runs, in a hurry":  {0, time.Hour, 42 * time.Minute, []string{"start 30m0s", "signal 42m0s", "end 42m0s"}},
		"ends in the grace": {0, 13 * time.Minute, time.Hour, []string{"start 30m0s", "end 43m0s"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				hurry := make(chan struct{})
				var b bench
				b.run(t, 40*time.Minute, Runner{Grace: 5 * time.Minute, Hurry: hurry}, crontab.Job{},
					func(int) Child {
						time.AfterFunc(c.hurry-30*time.Minute, func() { close(hurry) })
						return b.start(c.wait, c.work, 0)
					})
				time.Sleep(3 * time.Hour)
				if !slices.Equal(b.events, c.want) {
					t.Errorf("%q, want %q", b.events, c.want)
				}
			})
		})
	}
}
