package timelimit

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

type valueKey struct{}

// Requests share a context: each of them still ends with its own caller and within its limit, and has the values of its
// own caller.
func TestRequestsShareAContext(t *testing.T) {
	t.Parallel()
	const limit = time.Second
	for name, endless := range map[string]bool{"callers who can cancel": false, "callers who cannot": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := Requests{Timeout: limit}
				parent, cancel := context.WithCancelCause(t.Context())
				defer cancel(nil)
				if endless {
					parent = context.WithoutCancel(parent)
				}
				var under []context.Context
				for i := range 5 {
					ctx, end := r.Context(context.WithValue(parent, valueKey{}, i), limit)
					defer end()
					if ctx.Value(valueKey{}) != i {
						t.Errorf("request %d has the value %v", i, ctx.Value(valueKey{}))
					}
					under = append(under, ctx)
					time.Sleep(limit / 500)
				}
				if under[3].Done() != under[4].Done() {
					t.Error("requests that begin at the same time have a timer each")
				}
				derived, end := context.WithCancel(under[4])
				defer end()
				if endless {
					time.Sleep(limit)
				} else {
					cancel(errors.New("enough"))
				}
				synctest.Wait()
				for i, ctx := range append(under, derived) {
					if ctx.Err() == nil {
						t.Errorf("request %d has not ended", i)
					}
				}
			})
		})
	}
}

func TestSharedContextKeepsTheLimit(t *testing.T) {
	t.Parallel()
	const limit = time.Second
	synctest.Test(t, func(t *testing.T) {
		r := Requests{Timeout: limit}
		for name, parent := range map[string]context.Context{"ends": t.Context(), "never ends": context.Background()} {
			for range 300 {
				ctx, end := r.Context(parent, limit)
				at, ok := ctx.Deadline()
				if left := time.Until(at); !ok || left > limit || left < limit*99/100 {
					t.Fatalf("a request under a context that %s ends after %v", name, left)
				}
				end()
				time.Sleep(limit / 299)
			}
		}
	})
}

// A caller's own deadline is earlier, and one caller's context is not another's.
func TestSharedContextIsThatOfOneCaller(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := Requests{Timeout: time.Minute}
		soon, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		var mine, others []context.Context
		for range 3 {
			ctx, end := r.Context(soon, time.Minute)
			defer end()
			mine = append(mine, ctx)
		}
		for range 3 {
			ctx, end := r.Context(t.Context(), time.Minute)
			defer end()
			others = append(others, ctx)
		}
		time.Sleep(time.Second)
		synctest.Wait()
		for i := range mine {
			if mine[i].Err() == nil || others[i].Err() != nil {
				t.Errorf("request %d: %v, of the other caller: %v", i, mine[i].Err(), others[i].Err())
			}
		}
	})
}
