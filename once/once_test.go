package once_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/leasehold-go/leasehold"
	"github.com/leasehold-go/leasehold/admin"
	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/memory"
	"github.com/leasehold-go/leasehold/once"
)

var errWork = errors.New("disk full")

// inBubble runs a test in virtual time, on an engine that several processes share.
func inBubble(t *testing.T, test func(t *testing.T, process func(name string) *leasehold.Client)) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		engine := memory.New()
		test(t, func(name string) *leasehold.Client {
			c := leasehold.New(engine, leasehold.WithHolder(name))
			t.Cleanup(func() { c.Close() })
			return c
		})
	})
}

// does returns work that counts its runs.
func does(n *int, err error) func(context.Context, *once.Work) error {
	return func(context.Context, *once.Work) error { *n++; return err }
}

func mustDo(t *testing.T, j *once.Job, tick once.Tick, work func(context.Context, *once.Work) error) once.Result {
	t.Helper()
	r, err := j.Do(t.Context(), tick, work)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

var three = time.Date(2026, 3, 1, 3, 0, 0, 0, time.UTC)

func TestOfManyProcessesOneRunsATick(t *testing.T) {
	inBubble(t, func(t *testing.T, process func(string) *leasehold.Client) {
		const processes = 5
		var mu sync.Mutex
		var runs int
		results := make([]once.Result, processes)
		var all sync.WaitGroup
		for i := range processes {
			j := once.New(process(fmt.Sprint("process ", i)), "report")
			all.Go(func() {
				time.Sleep(time.Duration(i) * 10 * time.Millisecond)
				results[i] = mustDo(t, j, once.At(three), func(ctx context.Context, w *once.Work) error {
					mu.Lock()
					defer mu.Unlock()
					runs++
					time.Sleep(time.Minute) // longer than the ttl
					return ctx.Err()
				})
			})
		}
		all.Wait()
		if runs != 1 {
			t.Fatalf("%d runs", runs)
		}
		for i, r := range results {
			run := r.Run
			if r.Ran != (i == 0) || !r.Done || run.By != "process 0" || run.Token == 0 || run.Error != "" ||
				run.Tick.String() != "2026-03-01T03:00:00Z" || run.Ended.Sub(run.Began) != time.Minute {
				t.Errorf("process %d got %+v", i, r)
			}
		}
	})
}

func TestTicksInOrder(t *testing.T) {
	inBubble(t, func(t *testing.T, process func(string) *leasehold.Client) {
		j, n := once.New(process("a"), "report"), 0
		mustDo(t, j, once.At(three), does(&n, nil))
		berlin := time.FixedZone("CET", 3600)
		for _, again := range []time.Time{three, three.Add(-time.Hour), three.In(berlin)} {
			if r := mustDo(t, j, once.At(again), does(&n, nil)); r.Ran || !r.Done || !r.Run.Tick.Time().Equal(three) {
				t.Errorf("%v: %+v", again, r)
			}
		}
		mustDo(t, j, once.At(three.Add(1)), does(&n, nil))
		if n != 2 {
			t.Errorf("%d runs, want 2", n)
		}
		s, err := j.State(t.Context())
		if err != nil || !s.Done.Time().Equal(three.Add(1)) || len(s.Runs) != 2 || s.Runs[0].Token <= s.Runs[1].Token {
			t.Errorf("%+v, %v", s, err)
		}
		_, err = j.Do(t.Context(), once.Key("a"), does(&n, nil))
		if !errors.Is(err, leasehold.ErrInvalid) || !strings.Contains(err.Error(), "2026-03-01T03:00:00.000000001Z") {
			t.Errorf("a key after times: %v", err)
		}

		keys := once.New(process("a"), "migrations")
		n = 0
		for _, key := range []string{"0001", "0002", "0001", "0002", "0003"} {
			mustDo(t, keys, once.Key(key), does(&n, nil))
		}
		if n != 3 {
			t.Errorf("%d runs of three keys", n)
		}
		if _, err = keys.Do(t.Context(), once.At(three), does(&n, nil)); !errors.Is(err, leasehold.ErrInvalid) {
			t.Errorf("a time after keys: %v", err)
		}
	})
}

func TestTicksThatAreNotAllowed(t *testing.T) {
	inBubble(t, func(t *testing.T, process func(string) *leasehold.Client) {
		n := 0
		for _, tick := range []once.Tick{
			{}, once.Key(""), once.Key("a\x00"), once.Key(strings.Repeat("x", 1025)),
			once.At(time.Time{}.AddDate(10000, 0, 0)),
		} {
			_, err := once.New(process("a"), "report").Do(t.Context(), tick, does(&n, nil))
			if _, ok := errors.AsType[*leasehold.ValueError](err); !ok || n > 0 {
				t.Errorf("%q: %v", tick, err)
			}
		}
		_, err := once.New(process("a"), "").Do(t.Context(), once.Key("a"), does(&n, nil))
		if !errors.Is(err, leasehold.ErrInvalid) {
			t.Errorf("no name: %v", err)
		}
	})
}

func TestWorkThatFails(t *testing.T) {
	inBubble(t, func(t *testing.T, process func(string) *leasehold.Client) {
		j, n := once.New(process("a"), "report"), 0
		r, err := j.Do(t.Context(), once.At(three), does(&n, errWork))
		if err != errWork || !r.Ran || !r.Done || r.Run.Error != "disk full" {
			t.Fatalf("%+v, %v", r, err)
		}
		if r = mustDo(t, j, once.At(three), does(&n, nil)); r.Ran || r.Run.Error != "disk full" || n != 1 {
			t.Errorf("%+v after %d runs", r, n)
		}

		again := once.New(process("b"), "again", once.RetryFailed())
		n = 0
		for range 2 {
			r, err := again.Do(t.Context(), once.At(three), does(&n, errWork))
			if err != errWork || !r.Ran || r.Done {
				t.Fatalf("%+v, %v", r, err)
			}
		}
		if r := mustDo(t, again, once.At(three), does(&n, nil)); !r.Ran || !r.Done || n != 3 {
			t.Errorf("%+v after %d runs", r, n)
		}
		s, err := again.State(t.Context())
		if err != nil || len(s.Runs) != 3 || s.Runs[0].Error != "" || s.Runs[2].Error != "disk full" {
			t.Errorf("%+v, %v", s, err)
		}
	})
}

func TestWorkThatIsCutShortRunsAgain(t *testing.T) {
	inBubble(t, func(t *testing.T, process func(string) *leasehold.Client) {
		j := once.New(process("a"), "report")
		ctx, cancel := context.WithCancel(t.Context())
		r, err := j.Do(ctx, once.At(three), func(ctx context.Context, _ *once.Work) error {
			cancel()
			return ctx.Err()
		})
		if !errors.Is(err, context.Canceled) || !errors.Is(err, once.ErrCutShort) || r.Ran || r.Done {
			t.Errorf("cancelled: %+v, %v", r, err)
		}
		func() {
			defer func() { _ = recover() }()
			_, _ = j.Do(t.Context(), once.At(three), func(context.Context, *once.Work) error { panic("x") })
		}()
		n := 0
		r, err = j.Do(t.Context(), once.At(three), does(&n, fmt.Errorf("killed: %w", once.ErrCutShort)))
		if !errors.Is(err, once.ErrCutShort) || r.Ran || r.Done {
			t.Errorf("as the work says: %+v, %v", r, err)
		}
		if r := mustDo(t, j, once.At(three), does(&n, nil)); !r.Ran {
			t.Errorf("%+v", r)
		}
		// Work that has ended is done, even if its caller has given up meanwhile.
		ctx, cancel = context.WithCancel(t.Context())
		r, err = j.Do(ctx, once.At(three.Add(1)), func(context.Context, *once.Work) error { cancel(); return nil })
		if err != nil || !r.Done {
			t.Errorf("ended: %+v, %v", r, err)
		}
	})
}

// A process that has lost its lock and does not notice records nothing, and the other has the larger token.
func TestWorkThatLosesItsLock(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		engine := memory.New()
		here, there := leasehold.New(engine), leasehold.New(engine)
		defer here.Close()
		defer there.Close()
		for name, notices := range map[string]bool{"notices": true, "does not notice": false} {
			tick, n := once.At(three), 0
			var first, second uint64
			r, err := once.New(here, name).Do(t.Context(), tick, func(ctx context.Context, w *once.Work) error {
				first = w.Token()
				if err := admin.New(engine).ForceRelease(t.Context(), driver.Lock, name, first); err != nil {
					t.Fatal(err)
				}
				mustDo(t, once.New(there, name), tick, func(ctx context.Context, w *once.Work) error {
					n++
					second = w.Token()
					return nil
				})
				if notices {
					<-ctx.Done()
					return ctx.Err()
				}
				return nil
			})
			if !errors.Is(err, leasehold.ErrLost) || errors.Is(err, once.ErrNotRecorded) == notices || r.Done ||
				r.Ran == notices {
				t.Errorf("%s: %+v, %v", name, r, err)
			}
			s, err := once.New(here, name).State(t.Context())
			if err != nil || len(s.Runs) != 1 || s.Runs[0].Token != second || second <= first || n != 1 {
				t.Errorf("%s: %+v, %v; tokens %d and %d", name, s, err, first, second)
			}
		}
	})
}

func TestTryDo(t *testing.T) {
	inBubble(t, func(t *testing.T, process func(string) *leasehold.Client) {
		n := 0
		a, b := once.New(process("a"), "report"), once.New(process("b"), "report")
		mustDo(t, a, once.At(three), func(context.Context, *once.Work) error {
			if _, err := b.TryDo(t.Context(), once.At(three), does(&n, nil)); !errors.Is(err, leasehold.ErrHeld) {
				t.Errorf("while another works: %v", err)
			}
			return nil
		})
		if r, err := b.TryDo(t.Context(), once.At(three), does(&n, nil)); err != nil || r.Ran || !r.Done || n != 0 {
			t.Errorf("afterwards: %+v, %v", r, err)
		}
	})
}

func TestForget(t *testing.T) {
	inBubble(t, func(t *testing.T, process func(string) *leasehold.Client) {
		j, n := once.New(process("a"), "report"), 0
		mustDo(t, j, once.At(three), does(&n, nil))
		if err := j.Forget(t.Context()); err != nil {
			t.Fatal(err)
		}
		if s, err := j.State(t.Context()); err != nil || !s.Done.IsZero() || len(s.Runs) > 0 {
			t.Errorf("%+v, %v", s, err)
		}
		mustDo(t, j, once.Key("a"), does(&n, nil))
		if n != 2 {
			t.Errorf("%d runs", n)
		}
	})
}

func TestCommit(t *testing.T) {
	inBubble(t, func(t *testing.T, process func(string) *leasehold.Client) {
		j, n := once.New(process("a"), "report"), 0
		r, err := j.Do(t.Context(), once.At(three), func(ctx context.Context, w *once.Work) error {
			return w.Commit(func([]byte) error { return errWork })
		})
		if err != errWork || r.Ran || r.Done {
			t.Errorf("a commit that fails: %+v, %v", r, err)
		}
		r, err = j.Do(t.Context(), once.At(three), func(ctx context.Context, w *once.Work) error {
			_ = w.Commit(func([]byte) error { return errWork })
			return nil
		})
		if err != errWork || r.Ran || r.Done {
			t.Errorf("a commit that fails, and whose error is dropped: %+v, %v", r, err)
		}
		r = mustDo(t, j, once.At(three), func(ctx context.Context, w *once.Work) error {
			return w.Commit(func(data []byte) error { return w.Lease().SetData(ctx, data) })
		})
		if !r.Ran || !r.Done {
			t.Errorf("%+v", r)
		}
		if r := mustDo(t, j, once.At(three), does(&n, nil)); r.Ran || !r.Run.Tick.Time().Equal(three) ||
			r.Run.By != "a" {
			t.Errorf("afterwards: %+v", r)
		}
	})
}

func TestDataOfOthers(t *testing.T) {
	inBubble(t, func(t *testing.T, process func(string) *leasehold.Client) {
		c, n := process("a"), 0
		for data, want := range map[string]string{
			"x": "not stored by a job", "{}": "not stored by a job", `{"once":2}`: "newer version",
		} {
			err := c.Mutex("report").Do(t.Context(), func(ctx context.Context, l *leasehold.Lease) error {
				return l.SetData(ctx, []byte(data))
			})
			if err != nil {
				t.Fatal(err)
			}
			_, err = once.New(c, "report").Do(t.Context(), once.At(three), does(&n, nil))
			if !errors.Is(err, leasehold.ErrInvalid) || !strings.Contains(err.Error(), want) || n > 0 {
				t.Errorf("%s: %v", data, err)
			}
		}
	})
}

// The latest runs are kept, whatever their texts are.
func TestRunsAreKept(t *testing.T) {
	inBubble(t, func(t *testing.T, process func(string) *leasehold.Client) {
		j := once.New(process(strings.Repeat("\x01", 1000)), "report")
		for i := range 30 {
			_, _ = j.Do(t.Context(), once.Key(strings.Repeat("\x01", 100)+fmt.Sprintf("%02d", i)),
				func(context.Context, *once.Work) error { return errors.New(strings.Repeat("\x01é\xff", 1000)) })
		}
		s, err := j.State(t.Context())
		if err != nil || len(s.Runs) < 2 || !strings.HasSuffix(s.Done.String(), "29") || s.Runs[0].Tick != s.Done {
			t.Fatalf("%d runs, done %q, %v", len(s.Runs), s.Done, err)
		}
		short := once.New(process("b"), "short")
		for i := range 30 {
			mustDo(t, short, once.Key(fmt.Sprintf("%02d", i)), does(new(int), nil))
		}
		s, err = short.State(t.Context())
		if err != nil || len(s.Runs) != 20 || s.Runs[19].Tick != once.Key("10") {
			t.Errorf("%d runs, %v", len(s.Runs), err)
		}
	})
}

func TestEvery(t *testing.T) {
	t.Parallel()
	monday := time.Date(2026, 3, 2, 0, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		d    time.Duration
		want time.Time
	}{
		{time.Hour, three.Add(time.Hour)},
		{24 * time.Hour, monday},
		{7 * 24 * time.Hour, monday},
		{200 * time.Millisecond, three.Add(200 * time.Millisecond)},
	} {
		if got := once.Every(c.d).Next(three.In(time.FixedZone("", 5400))); !got.Equal(c.want) {
			t.Errorf("every %v after %v comes %v, want %v", c.d, three, got, c.want)
		}
	}
	defer func() {
		if recover() == nil {
			t.Error("a period of 0 is allowed")
		}
	}()
	once.Every(0)
}

// ticksOf returns the ticks of some results, as seconds after three.
func ticksOf(all []once.Result) (ticks []int) {
	for _, r := range all {
		ticks = append(ticks, int(r.Run.Tick.Time().Sub(three).Seconds()))
	}
	return ticks
}

func TestWhatIsDue(t *testing.T) {
	inBubble(t, func(t *testing.T, process func(string) *leasehold.Client) {
		every := once.Every(10 * time.Second)
		skips, all := once.New(process("a"), "skips"), once.New(process("a"), "all", once.CatchUp(3))
		for i, c := range []struct {
			after       time.Duration
			skips, alls []int
		}{
			{5 * time.Second, []int{0}, []int{0}}, // nothing was missed before the first
			{9 * time.Second, []int{0}, []int{0}},
			{10 * time.Second, []int{10}, []int{10}},
			{45 * time.Second, []int{40}, []int{20, 30, 40}},
			{time.Hour, []int{3600}, []int{3580, 3590, 3600}},
		} {
			now := three.Add(c.after)
			n := 0
			one, err1 := skips.DoDue(t.Context(), every, now, does(&n, nil))
			more, err2 := all.DoDue(t.Context(), every, now, does(&n, nil))
			if err := errors.Join(err1, err2); err != nil || !slices.Equal(ticksOf(one), c.skips) ||
				i != 1 && !slices.Equal(ticksOf(more), c.alls) {
				t.Errorf("%v: ran %v and %v, %v; want %v and %v",
					c.after, ticksOf(one), ticksOf(more), err, c.skips, c.alls)
			}
		}
		// Work that fails is done, so the next tick runs. Without that, it comes first.
		_, err := all.DoDue(t.Context(), every, three.Add(time.Hour+20*time.Second), does(new(int), errWork))
		if s, _ := all.State(t.Context()); !errors.Is(err, errWork) || len(s.Runs) < 2 || s.Runs[0].Error == "" ||
			s.Runs[1].Error == "" {
			t.Errorf("%v, %+v", err, s.Runs)
		}
		stops := once.New(process("a"), "all", once.CatchUp(3), once.RetryFailed())
		n := 0
		_, err = stops.DoDue(t.Context(), every, three.Add(time.Hour+40*time.Second), does(&n, errWork))
		if !errors.Is(err, errWork) || n != 1 {
			t.Errorf("%v after %d runs", err, n)
		}
	})
}

// yearly has a tick each 29 February.
type yearly struct{}

func (yearly) Next(t time.Time) time.Time {
	for year := t.UTC().Year(); ; year++ {
		next := time.Date(year, 2, 29, 0, 0, 0, 0, time.UTC)
		if next.Day() == 29 && next.After(t) {
			return next
		}
	}
}

type never struct{}

func (never) Next(time.Time) time.Time { return time.Time{} }

func TestRareTicks(t *testing.T) {
	inBubble(t, func(t *testing.T, process func(string) *leasehold.Client) {
		j, n := once.New(process("a"), "leap"), 0
		all, err := j.DoDue(t.Context(), yearly{}, three, does(&n, nil))
		if err != nil || len(all) != 1 || all[0].Run.Tick.String() != "2024-02-29T00:00:00Z" {
			t.Errorf("%+v, %v", all, err)
		}
		if all, err := j.DoDue(t.Context(), never{}, three, does(&n, nil)); err != nil || len(all) > 0 {
			t.Errorf("%+v, %v", all, err)
		}
		if err := j.Loop(t.Context(), never{}, does(&n, nil), nil); err != nil {
			t.Error(err)
		}
	})
}

// What is due during a run for an earlier tick runs when that has ended, or is skipped.
func TestTicksDuringARun(t *testing.T) {
	inBubble(t, func(t *testing.T, process func(string) *leasehold.Client) {
		for _, c := range []struct {
			name string
			opts []once.Option
			want string // minutes from the beginning
			// skipped is how many reports end with a tick that was skipped: one on each machine.
			skipped int
		}{
			{"waits", nil, "[30 150 210]", 0},
			{"skips", []once.Option{once.SkipOverlapped()}, "[30 210]", 2},
			{"catches up", []once.Option{once.CatchUp(9)}, "[-30 30 90 150 210]", 0},
			{"catches up and skips", []once.Option{once.CatchUp(9), once.SkipOverlapped()}, "[-30 150 210]", 2},
		} {
			time.Sleep(time.Until(time.Now().Truncate(time.Hour).Add(90 * time.Minute)))
			began := time.Now()
			var mu sync.Mutex
			var ran []int
			var skipped int
			ctx, cancel := context.WithTimeout(t.Context(), 4*time.Hour)
			var all sync.WaitGroup
			for _, by := range []string{"a", "b"} {
				j := once.New(process(by), c.name, c.opts...)
				all.Go(func() {
					err := j.Loop(ctx, once.Every(time.Hour), func(_ context.Context, w *once.Work) error {
						mu.Lock()
						ran = append(ran, int(w.Tick().Time().Sub(began).Minutes()))
						first := len(ran) == 1
						mu.Unlock()
						if first {
							time.Sleep(2*time.Hour + 10*time.Minute)
						}
						return nil
					}, func(r []once.Result, _ error) {
						mu.Lock()
						defer mu.Unlock()
						if len(r) > 0 && r[len(r)-1].Skipped {
							skipped++
						}
					})
					if !errors.Is(err, context.DeadlineExceeded) {
						t.Error(err)
					}
				})
			}
			all.Wait()
			cancel()
			if got := fmt.Sprint(ran); got != c.want {
				t.Errorf("%s: ran %s, want %s", c.name, got, c.want)
			}
			if skipped != c.skipped {
				t.Errorf("%s: %d reports of a skip, want %d", c.name, skipped, c.skipped)
			}
		}
	})
}

// Machines whose clocks differ by a minute run each tick once, and in order.
func TestClocksThatDiffer(t *testing.T) {
	inBubble(t, func(t *testing.T, process func(string) *leasehold.Client) {
		var mu sync.Mutex
		var ran []time.Time
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
		defer cancel()
		var all sync.WaitGroup
		for i, seconds := range []time.Duration{-30, -7, 0, 3, 30} { // by which a clock is ahead
			clock := once.WithClock(func() time.Time { return time.Now().Add(seconds * time.Second) })
			j := once.New(process(fmt.Sprint(i)), "report", clock, once.CatchUp(1000))
			all.Go(func() {
				err := j.Loop(ctx, once.Every(200*time.Millisecond), func(_ context.Context, w *once.Work) error {
					mu.Lock()
					defer mu.Unlock()
					ran = append(ran, w.Tick().Time())
					return nil
				}, nil)
				if !errors.Is(err, context.DeadlineExceeded) {
					t.Error(err)
				}
			})
		}
		all.Wait()
		if len(ran) < 600 {
			t.Errorf("%d ticks in two minutes", len(ran))
		}
		for i := range ran[1:] {
			if d := ran[i+1].Sub(ran[i]); d != 200*time.Millisecond {
				t.Fatalf("tick %v follows %v", ran[i+1], ran[i])
			}
		}
	})
}

func TestLoopTriesAgain(t *testing.T) {
	inBubble(t, func(t *testing.T, process func(string) *leasehold.Client) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour+30*time.Minute)
		defer cancel()
		began := time.Now()
		j := once.New(process("a"), "report", once.RetryFailed())
		var at []time.Duration
		var reports int
		err := j.Loop(ctx, once.Every(time.Hour), func(context.Context, *once.Work) error {
			at = append(at, time.Since(began).Round(time.Second)-time.Hour)
			if len(at) < 4 {
				return errWork
			}
			return nil
		}, func(r []once.Result, err error) {
			reports++
			if failed := reports < 4; errors.Is(err, errWork) != failed || r[0].Done == failed {
				t.Errorf("report %d: %+v, %v", reports, r, err)
			}
		})
		want := []time.Duration{0, time.Second, 3 * time.Second, 7 * time.Second}
		if !errors.Is(err, context.DeadlineExceeded) || !slices.Equal(at, want) || reports != 4 {
			t.Errorf("%v: runs at %v, %d reports", err, at, reports)
		}
	})
}

func TestLoopEndsWithItsClient(t *testing.T) {
	inBubble(t, func(t *testing.T, process func(string) *leasehold.Client) {
		c := process("a")
		time.AfterFunc(90*time.Minute, func() { c.Close() })
		n := 0
		err := once.New(c, "report").Loop(t.Context(), once.Every(time.Hour), does(&n, nil), nil)
		if !errors.Is(err, leasehold.ErrClosed) || n != 1 {
			t.Errorf("%v after %d runs", err, n)
		}
	})
}
