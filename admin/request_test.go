package admin_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/leasehold-go/leasehold"
	"github.com/leasehold-go/leasehold/admin"
	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/memory"
)

// able is an engine with all abilities. Each method answers with answer.
type able struct {
	*spy
	answer func(context.Context) error
}

func newAble(e *spy, answer func(context.Context) error) able {
	e.can.Walk = true
	e.fail(func(c call) error { return answer(c.ctx) })
	return able{e, answer}
}

func (a able) Walk(ctx context.Context, _ driver.Query, _ func([]driver.Status) bool) error {
	return a.do(ctx, "Walk", "", func() error { return nil })
}

func (a able) Leaks(ctx context.Context, _ driver.Query, _ func(driver.Leak) bool) error {
	return a.do(ctx, "Leaks", "", func() error { return nil })
}

func (a able) Sweep(ctx context.Context, l driver.Leak) error {
	return a.do(ctx, "Sweep", l.Name, func() error { return nil })
}

func (a able) Votes(ctx context.Context, k driver.Key) ([]driver.Vote, error) {
	return nil, a.do(ctx, "Votes", k.Name, func() error { return nil })
}

func (a able) GrantsClosed(ctx context.Context, k driver.Key) (*driver.GrantsClosedError, error) {
	return nil, a.do(ctx, "GrantsClosed", k.Name, func() error { return nil })
}

func (a able) Examine(ctx context.Context) (driver.Examination, error) {
	return driver.Examination{}, a.do(ctx, "Examine", "", func() error { return nil })
}

// requests are all methods that send one request, or begin with one that has a limit.
func requests(c *admin.Client) map[string]func(context.Context) error {
	return map[string]func(context.Context) error{
		"List":    func(ctx context.Context) error { _, err := c.List(ctx, admin.Query{}); return err },
		"Inspect": func(ctx context.Context) error { _, err := c.Inspect(ctx, "n"); return err },
		"ForceRelease": func(ctx context.Context) error {
			return c.ForceRelease(ctx, driver.Lock, "n", 1)
		},
		"Sweep":    func(ctx context.Context) error { return c.Sweep(ctx, someLeaks[0]) },
		"Removals": func(ctx context.Context) error { _, err := c.Removals(ctx, 0); return err },
		"Examine":  func(ctx context.Context) error { _, err := c.Examine(ctx); return err },
		"Votes":    func(ctx context.Context) error { _, err := c.Votes(ctx, driver.Lock, "n"); return err },
		"GrantsClosed": func(ctx context.Context) error {
			_, err := c.GrantsClosed(ctx, driver.Lock, "n")
			return err
		},
	}
}

// streams are the methods that yield what the engine finds, without a limit.
func streams(c *admin.Client) map[string]func(context.Context) error {
	return map[string]func(context.Context) error{
		"All": func(ctx context.Context) (failed error) {
			for _, err := range c.All(ctx, admin.Query{}) {
				failed = err
			}
			return failed
		},
		"Leaks": func(ctx context.Context) (failed error) {
			for _, err := range c.Leaks(ctx, admin.Query{}) {
				failed = err
			}
			return failed
		},
	}
}

func TestAnEngineThatFails(t *testing.T) {
	inBubble(t, func(t *testing.T, e *spy) {
		c := admin.New(newAble(e, func(context.Context) error { return errLost }))
		for _, all := range []map[string]func(context.Context) error{requests(c), streams(c)} {
			for name, f := range all {
				t.Log(name)
				err := f(t.Context())
				expectOnly(t, err, leasehold.ErrUnavailable)
				expect(t, err, errLost)
			}
		}
		_, err := c.List(t.Context(), admin.Query{})
		if got := err.Error(); got != "leasehold: list: engine not available: connection reset" {
			t.Errorf("got %s", got)
		}
	})
}

// A request has a limit of its own, which is not the caller's deadline.
func TestAnEngineThatIsSilent(t *testing.T) {
	inBubble(t, func(t *testing.T, e *spy) {
		silent := newAble(e, func(ctx context.Context) error {
			<-ctx.Done()
			return fmt.Errorf("asking: %w", ctx.Err())
		})
		for limit, c := range map[time.Duration]*admin.Client{
			leasehold.DefaultRequestTimeout: admin.New(silent),
			time.Second:                     admin.New(silent, admin.WithRequestTimeout(time.Second)),
		} {
			for name, f := range requests(c) {
				t.Log(name)
				began := time.Now()
				err := f(t.Context())
				expectOnly(t, err, leasehold.ErrUnavailable)
				if !strings.HasSuffix(err.Error(), "engine not available: no answer in time") {
					t.Errorf("the error does not say what is wrong: %v", err)
				}
				if took := time.Since(began); took != limit {
					t.Errorf("it took %v, want %v", took, limit)
				}
			}
		}
	})
}

// An engine's own limit, in a search that has none, is not the caller's deadline either.
func TestALimitOfTheEngine(t *testing.T) {
	inBubble(t, func(t *testing.T, e *spy) {
		c := admin.New(newAble(e, func(context.Context) error {
			return fmt.Errorf("asking: %w", context.DeadlineExceeded)
		}))
		for name, f := range streams(c) {
			t.Log(name)
			expectOnly(t, f(t.Context()), leasehold.ErrUnavailable)
		}
	})
}

func TestACallerThatGivesUp(t *testing.T) {
	inBubble(t, func(t *testing.T, e *spy) {
		c := admin.New(newAble(e, func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }))
		tired := errors.New("tired")
		for _, all := range []map[string]func(context.Context) error{requests(c), streams(c)} {
			for name, f := range all {
				t.Log(name)
				ctx, cancel := context.WithCancelCause(t.Context())
				time.AfterFunc(time.Second, func() { cancel(tired) })
				began := time.Now()
				err := f(ctx)
				expectOnly(t, err, context.Canceled)
				expect(t, err, tired)
				if took := time.Since(began); took != time.Second {
					t.Errorf("it took %v", took)
				}
				limited, cancelLimited := context.WithTimeoutCause(t.Context(), time.Second, tired)
				err = f(limited)
				cancelLimited()
				expectOnly(t, err, context.DeadlineExceeded)
				expect(t, err, tired)
			}
		}
	})
}

// An engine may notice the caller's deadline a moment before the caller's context ends.
func TestADeadlineThatTheEngineNoticesFirst(t *testing.T) {
	inBubble(t, func(t *testing.T, e *spy) {
		c := admin.New(newAble(e, func(ctx context.Context) error {
			end, _ := ctx.Deadline()
			time.Sleep(time.Until(end))
			return context.DeadlineExceeded
		}))
		late := lateContext{t.Context(), time.Now().Add(time.Second), make(chan struct{})}
		time.AfterFunc(time.Second+time.Millisecond, func() { close(late.done) })
		_, err := c.List(late, admin.Query{})
		expectOnly(t, err, context.DeadlineExceeded)
	})
}

// lateContext is a context that ends a moment after its deadline.
type lateContext struct {
	context.Context
	end  time.Time
	done chan struct{}
}

func (c lateContext) Deadline() (time.Time, bool) { return c.end, true }
func (c lateContext) Done() <-chan struct{}       { return c.done }
func (c lateContext) Err() error {
	select {
	case <-c.done:
		return context.DeadlineExceeded
	default:
		return nil
	}
}

func TestACallerThatHasGivenUpBefore(t *testing.T) {
	inBubble(t, func(t *testing.T, e *spy) {
		c := admin.New(newAble(e, func(context.Context) error { return nil }))
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		for _, all := range []map[string]func(context.Context) error{requests(c), streams(c)} {
			for name, f := range all {
				t.Log(name)
				expectOnly(t, f(ctx), context.Canceled)
			}
		}
		if n := e.sent(); n != 0 {
			t.Errorf("%d requests were sent", n)
		}
	})
}

func TestBadNames(t *testing.T) {
	inBubble(t, func(t *testing.T, e *spy) {
		c := admin.New(newAble(e, func(context.Context) error { return nil }))
		for name, shown := range map[string]string{
			"":                        `""`,
			strings.Repeat("n", 1025): "nnn",
			"order\x00":               `\x00`,
			"\xff\xfe":                `\xff\xfe`,
		} {
			_, err := c.Inspect(t.Context(), name)
			expectRefusal(t, err, "name", shown)
			_, err = c.Votes(t.Context(), driver.Lock, name)
			expectRefusal(t, err, "name", shown)
			expectRefusal(t, c.ForceRelease(t.Context(), driver.Lock, name, 1), "name", shown)
		}
		if n := e.sent(); n != 0 {
			t.Errorf("%d requests were sent", n)
		}
	})
}

func TestBadKindsAndLimits(t *testing.T) {
	inBubble(t, func(t *testing.T, e *spy) {
		c := admin.New(newAble(e, func(context.Context) error { return nil }))
		for kind, shown := range map[driver.Kind]string{0: "kind(0)", driver.Latch: "latch", 9: "kind(9)"} {
			expectRefusal(t, c.ForceRelease(t.Context(), kind, "n", 1), "kind", shown)
		}
		for _, kind := range []driver.Kind{0, 9} {
			_, err := c.Votes(t.Context(), kind, "n")
			expectRefusal(t, err, "kind", kind.String())
		}
		_, err := c.List(t.Context(), admin.Query{Kind: 9})
		expectRefusal(t, err, "kind", "kind(9)")
		_, err = c.List(t.Context(), admin.Query{Limit: -1})
		expectRefusal(t, err, "limit", "-1")
		if n := e.sent(); n != 0 {
			t.Errorf("%d requests were sent", n)
		}
	})
}

func TestBadOptions(t *testing.T) {
	inBubble(t, func(t *testing.T, e *spy) {
		able := newAble(e, func(context.Context) error { return nil })
		for _, bad := range []struct {
			engine       driver.Engine
			option       admin.Option
			field, value string
		}{
			{nil, admin.WithTTL(time.Minute), "engine", "nil"},
			{able, admin.WithLogger(nil), "logger", "nil"},
			{able, admin.WithRequestTimeout(0), "request timeout", "0s"},
			{able, admin.WithRequestTimeout(-1), "request timeout", "-1ns"},
			{able, admin.WithTTL(99 * time.Millisecond), "TTL", "99ms"},
			{able, admin.WithTTL(24*time.Hour + 1), "TTL", "24h0m0.000000001s"},
			{able, admin.WithMaxWaiters(0), "limit of waiters", "0"},
			{able, admin.WithMaxWaiters(1 << 31), "limit of waiters", "2147483648"},
		} {
			c := admin.New(bad.engine, bad.option, admin.WithRequestTimeout(-2)) // the first one counts
			for _, all := range []map[string]func(context.Context) error{requests(c), streams(c)} {
				for _, f := range all {
					expectRefusal(t, f(t.Context()), bad.field, bad.value)
				}
			}
		}
		if n := e.sent(); n != 0 {
			t.Errorf("%d requests were sent", n)
		}
	})
}

// An engine without methods for operators can do nothing for them, and neither can one whose methods say so.
func TestWhatTheEngineCannotDo(t *testing.T) {
	inBubble(t, func(t *testing.T, e *spy) {
		able := newAble(e, func(context.Context) error { return nil })
		without := admin.New(struct{ driver.Engine }{able})
		unable := admin.New(struct {
			driver.Engine
			driver.Unsupported
		}{Engine: able})
		for _, c := range []*admin.Client{without, unable} {
			for name, f := range requests(c) {
				if name != "List" && name != "Inspect" && name != "GrantsClosed" {
					t.Log(name)
					expectOnly(t, f(t.Context()), leasehold.ErrUnsupported)
				}
			}
			expectOnly(t, streams(c)["Leaks"](t.Context()), leasehold.ErrUnsupported)
			if closed, err := c.GrantsClosed(t.Context(), driver.Lock, "n"); closed != nil || err != nil {
				t.Errorf("an engine that is never closed: %v, %v", closed, err)
			}
		}
		if n := e.sent(); n != 0 {
			t.Errorf("%d requests were sent", n)
		}
	})
}

// Nothing of the inside is printed.
func TestAClientIsPrintedAsItsEngine(t *testing.T) {
	t.Parallel()
	c := admin.New(memory.New())
	var log strings.Builder
	slog.New(slog.NewTextHandler(&log, nil)).Info("it", "client", c)
	const want = `admin client on "memory"`
	if got := fmt.Sprintf("%v|%+v|%#v|%s", c, c, c, c); got != strings.Join([]string{want, want, want, want}, "|") {
		t.Errorf("it is printed as %s", got)
	}
	if !strings.Contains(log.String(), `client="admin client on \"memory\""`) {
		t.Errorf("it is logged as %s", &log)
	}
}
