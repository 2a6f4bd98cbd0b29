package leasehold_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"github.com/leasehold-go/leasehold"
	"github.com/leasehold-go/leasehold/admin"
	"github.com/leasehold-go/leasehold/driver"
)

// expectRefusal expects an error that says which value is not allowed and what is.
func expectRefusal(t *testing.T, err error, field, value string) {
	t.Helper()
	var v *leasehold.ValueError
	if !errors.As(err, &v) {
		t.Errorf("got error %v (%T), want a *ValueError for %s", err, err, field)
		return
	}
	expectOnly(t, err, leasehold.ErrInvalid)
	if v.Field != field || !strings.Contains(v.Value, value) || v.Allowed == "" {
		t.Errorf("got %+v, want field %q and value %q", v, field, value)
	}
	for _, part := range []string{v.Field, v.Value, v.Allowed} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("the error does not say %q: %s", part, err)
		}
	}
	if !utf8.ValidString(err.Error()) || len(err.Error()) > 300 {
		t.Errorf("the error is %d bytes, valid UTF-8 %v: %s", len(err.Error()), utf8.ValidString(err.Error()), err)
	}
}

func TestBadNames(t *testing.T) {
	onBoth(t, func(t *testing.T, e *spy) {
		c := newClient(t, e)
		ctx := t.Context()
		for name, shown := range map[string]string{
			"":                        `""`,
			strings.Repeat("n", 1025): "nnn",
			strings.Repeat("ä", 513):  "äää",
			strings.Repeat("€", 600):  "€€€",
			"order\x00":               `\x00`,
			"\xff\xfe":                `\xff\xfe`,
		} {
			for _, f := range []func() error{
				func() error { _, err := c.Mutex(name).Lock(ctx); return err },
				func() error { _, err := c.Mutex(name).TryLock(ctx); return err },
				func() error { return c.Mutex(name).Do(ctx, nil) },
				func() error { _, err := c.RWMutex(name).Lock(ctx); return err },
				func() error { _, err := c.RWMutex(name).TryLock(ctx); return err },
				func() error { _, err := c.RWMutex(name).RLock(ctx); return err },
				func() error { _, err := c.RWMutex(name).TryRLock(ctx); return err },
				func() error { return c.RWMutex(name).Do(ctx, nil) },
				func() error { return c.RWMutex(name).RDo(ctx, nil) },
				func() error { _, err := c.Semaphore(name, 2).Acquire(ctx, 1); return err },
				func() error { _, err := c.Semaphore(name, 2).TryAcquire(ctx, 1); return err },
				func() error { return c.Semaphore(name, 2).Do(ctx, 1, nil) },
				func() error { _, err := c.Latch(name).TrySet(ctx, 1); return err },
				func() error { _, err := c.Latch(name).CountDown(ctx); return err },
				func() error { _, err := c.Latch(name).Count(ctx); return err },
				func() error { return c.Latch(name).Wait(ctx) },
				func() error { _, err := c.LockAll(ctx, "good", name); return err },
				func() error { _, err := c.Election(name).Campaign(ctx, "me"); return err },
				func() error { _, err := c.Election(name).Leader(ctx); return err },
			} {
				expectRefusal(t, f(), "name", shown)
			}
			_, err := c.Election("good").Campaign(ctx, name)
			expectRefusal(t, err, "leader's id", shown)
			_, err = newClient(t, e, leasehold.WithHolder(name)).Mutex("good").Lock(ctx)
			expectRefusal(t, err, "holder", shown)
		}
		if n := e.sent(); n != 0 {
			t.Errorf("%d requests were sent", n)
		}
	})
}

func TestGoodNames(t *testing.T) {
	onBoth(t, func(t *testing.T, e *spy) {
		c := newClient(t, e)
		for _, name := range []string{"n", strings.Repeat("n", 1024), strings.Repeat("ä", 512), "{a}b", " ", "a\nb",
			"a b\t", "日本", "../x", "*"} {
			lease := take(t, c.Mutex(name).Lock)
			if lease.Name() != name {
				t.Errorf("the name is %q, want %q", lease.Name(), name)
			}
			release(t, lease)
		}
	})
}

func TestBadOptions(t *testing.T) {
	onBoth(t, func(t *testing.T, e *spy) {
		for _, bad := range []struct {
			option       leasehold.Option
			field, value string
		}{
			{leasehold.TTL(0), "TTL", "0s"},
			{leasehold.TTL(-time.Second), "TTL", "-1s"},
			{leasehold.TTL(99 * time.Millisecond), "TTL", "99ms"},
			{leasehold.TTL(24*time.Hour + 1), "TTL", "24h0m0.000000001s"},
			{leasehold.TTL(math.MaxInt64), "TTL", "2562047h"},
			{leasehold.MaxHold(0), "MaxHold", "0s"},
			{leasehold.MaxHold(-1), "MaxHold", "-1ns"},
			{leasehold.MaxHold(99 * time.Millisecond), "MaxHold", "99ms"},
			{leasehold.AtLeast(-1), "AtLeast", "-1ns"},
			{leasehold.AtLeast(25 * time.Hour), "AtLeast", "25h"},
			{leasehold.WaitLimit(0), "WaitLimit", "0s"},
			{leasehold.WaitLimit(-time.Minute), "WaitLimit", "-1m"},
			{leasehold.Label("\xff"), "Label", `\xff`},
			{leasehold.Label(strings.Repeat("ä", 600)), "Label", "äää"},
		} {
			c := newClient(t, e)
			_, err := c.Mutex("n", bad.option).Lock(t.Context())
			expectRefusal(t, err, bad.field, bad.value)
			s := c.Semaphore("n", 1, leasehold.TTL(time.Minute), bad.option, leasehold.TTL(time.Second))
			_, err = s.Acquire(t.Context(), 1)
			expectRefusal(t, err, bad.field, bad.value)
			_, err = c.Latch("n", bad.option).TrySet(t.Context(), 1)
			expectRefusal(t, err, bad.field, bad.value)
			_, err = c.Election("n", bad.option).Campaign(t.Context(), "me")
			expectRefusal(t, err, bad.field, bad.value)
			// As a default of the client it makes all calls fail.
			c = newClient(t, e, leasehold.WithDefaults(bad.option))
			_, err = c.Mutex("n").TryLock(t.Context())
			expectRefusal(t, err, bad.field, bad.value)
			_, err = c.LockAll(t.Context(), "n")
			expectRefusal(t, err, bad.field, bad.value)
			_, err = c.Election("n").Leader(t.Context())
			expectRefusal(t, err, bad.field, bad.value)
		}
		if n := e.sent(); n != 0 {
			t.Errorf("%d requests were sent", n)
		}
	})
}

func TestBadClientOptions(t *testing.T) {
	onBoth(t, func(t *testing.T, e *spy) {
		for _, bad := range []struct {
			option       leasehold.ClientOption
			field, value string
		}{
			{leasehold.WithLogger(nil), "logger", "nil"},
			{leasehold.WithHolder(""), "holder", `""`},
			{leasehold.WithRequestTimeout(0), "request timeout", "0s"},
			{leasehold.WithRequestTimeout(-1), "request timeout", "-1ns"},
			{leasehold.WithHandOver(-1), "hand-over limit", "-1"},
			{leasehold.WithHandOver(10_001), "hand-over limit", "10001"},
			{leasehold.WithObserver(&events{}, struct{}{}), "observer", "struct {}"},
			{leasehold.WithObserver(nil), "observer", "nil"},
		} {
			c := newClient(t, e, bad.option, leasehold.WithRequestTimeout(time.Second))
			_, err := c.Mutex("n").Lock(t.Context())
			expectRefusal(t, err, bad.field, bad.value)
			_, err = c.Election("n").Leader(t.Context())
			expectRefusal(t, err, bad.field, bad.value)
			_, err = c.Latch("n").CountDown(t.Context())
			expectRefusal(t, err, bad.field, bad.value)
		}
		if n := e.sent(); n != 0 {
			t.Errorf("%d requests were sent", n)
		}
	})
}

func TestBadNumbers(t *testing.T) {
	onBoth(t, func(t *testing.T, e *spy) {
		c := newClient(t, e)
		ctx := t.Context()
		for _, n := range []int{0, -1, math.MinInt} {
			_, err := c.Semaphore("n", n).Acquire(ctx, 1)
			expectRefusal(t, err, "semaphore size", fmt.Sprint(n))
			_, err = c.Latch("n").TrySet(ctx, n)
			expectRefusal(t, err, "count", fmt.Sprint(n))
		}
		for _, n := range []int{0, -1, 4, math.MaxInt} {
			_, err := c.Semaphore("n", 3).Acquire(ctx, n)
			expectRefusal(t, err, "number of permits", fmt.Sprint(n))
			_, err = c.Semaphore("n", 3).TryAcquire(ctx, n)
			expectRefusal(t, err, "number of permits", fmt.Sprint(n))
			expectRefusal(t, c.Semaphore("n", 3).Do(ctx, n, nil), "number of permits", fmt.Sprint(n))
		}
		_, err := c.LockAll(ctx)
		expectRefusal(t, err, "number of names", "0")
		if n := e.sent(); n != 0 {
			t.Errorf("%d requests were sent", n)
		}
	})
}

func TestBadExtensions(t *testing.T) {
	onBoth(t, func(t *testing.T, e *spy) {
		c := newClient(t, e)
		lease := take(t, c.Mutex("n").Lock)
		for _, d := range []time.Duration{0, -time.Second, 99 * time.Millisecond, 24*time.Hour + 1} {
			expectRefusal(t, lease.Extend(t.Context(), d), "TTL", d.String())
		}
		if e.sent("Renew") != 0 {
			t.Error("something was sent")
		}
		wantCause(t, lease.Context(), nil)

		set := takeAll(t, c, "a", "b")
		_, err := set.Token("c")
		expectRefusal(t, err, "name", `"c"`)
	})
}

func TestTheEnginesLongestLease(t *testing.T) {
	onBoth(t, func(t *testing.T, e *spy) {
		e.can.MaxTTL = time.Minute
		c := newClient(t, e)
		_, err := c.Mutex("n", leasehold.TTL(time.Minute+1)).Lock(t.Context())
		expectRefusal(t, err, "TTL", "1m0.000000001s")
		lease := take(t, c.Mutex("n", leasehold.TTL(time.Minute)).Lock)
		expectRefusal(t, lease.Extend(t.Context(), time.Minute+1), "TTL", "1m0.000000001s")
		expect(t, lease.Extend(t.Context(), time.Minute), nil)
		set(t, c.Latch("start"), 1, true) // no lease
		if got := e.last(t, "TrySet").ttl; got != leasehold.MaxTTL {
			t.Errorf("a latch lives for %v by default", got)
		}
	})
}

// With a nil engine every method of every type returns an error, and none panics. That includes future methods.
func TestANilEngine(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		seen := map[reflect.Type]bool{}
		calls := 0
		var walk func(v reflect.Value)
		walk = func(v reflect.Value) {
			if seen[v.Type()] {
				return
			}
			seen[v.Type()] = true
			for i := range v.NumMethod() {
				method := v.Type().Method(i).Name
				if method == "Close" || method == "Format" {
					continue // have nothing to check
				}
				f := v.Method(i)
				var in []reflect.Value
				for j := range f.Type().NumIn() {
					in = append(in, goodValue(t, f.Type().In(j)))
				}
				call := f.Call
				if f.Type().IsVariadic() {
					call = f.CallSlice
				}
				for _, out := range call(in) {
					switch value := out.Interface().(type) {
					case error:
						if out.Kind() != reflect.Interface {
							continue // a result that happens to be an error, too, as that of admin.Client.GrantsClosed
						}
						calls++
						expectRefusal(t, value, "engine", "nil")
					default:
						switch {
						case out.Kind() == reflect.Func && out.Type().CanSeq2():
							yielded := 0
							for _, err := range out.Seq2() {
								calls++
								yielded++
								expectRefusal(t, err.Interface().(error), "engine", "nil")
							}
							if yielded != 1 {
								t.Errorf("%v.%s yielded %d errors", v.Type(), method, yielded)
							}
						case out.Kind() == reflect.Pointer && !out.IsNil():
							walk(out)
						case out.Type() == reflect.TypeFor[error]():
							t.Errorf("%v.%s returned no error", v.Type(), method)
						}
					}
				}
			}
		}
		c := leasehold.New(nil)
		walk(reflect.ValueOf(c))
		walk(reflect.ValueOf(admin.New(nil)))
		expect(t, c.Close(), nil)
		if len(seen) != 7 || calls < 25 {
			t.Errorf("only %d types with %d methods were tried", len(seen), calls)
		}
	})
}

// goodValue returns a value that a call accepts.
func goodValue(t *testing.T, of reflect.Type) reflect.Value {
	t.Helper()
	v := reflect.New(of).Elem()
	switch of {
	case reflect.TypeFor[context.Context]():
		v.Set(reflect.ValueOf(t.Context()))
	case reflect.TypeFor[driver.Kind]():
		v.Set(reflect.ValueOf(driver.Lock))
	case reflect.TypeFor[[]string]():
		v.Set(reflect.ValueOf([]string{"n", "o"}))
	default:
		switch of.Kind() {
		case reflect.String:
			v.SetString("n")
		case reflect.Int:
			v.SetInt(1)
		case reflect.Uint64:
			v.SetUint(1)
		}
	}
	return v
}

// An impossible answer of the engine ends the call, and nothing is left.
func TestAnEngineThatGrantsAWaiterWithoutAStart(t *testing.T) {
	onBoth(t, func(t *testing.T, e *spy) {
		held := take(t, newClient(t, e).Mutex("n").Lock)
		waiting := start(t.Context(), newClient(t, noStart{e}).Mutex("n").Lock)
		waiting.wantWaiting(t)
		release(t, held)
		waiting.settle()
		expectOnly(t, waiting.err, leasehold.ErrUnavailable)
		time.Sleep(time.Second)
		release(t, take(t, newClient(t, e).Mutex("n").TryLock))
	})
}

type noStart struct{ *spy }

func (n noStart) Wait(ctx context.Context, r driver.Request) (driver.Grant, error) {
	g, err := n.spy.Wait(ctx, r)
	g.Start = driver.Instant{}
	return g, err
}
