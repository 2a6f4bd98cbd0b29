//go:build unix

package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/leasehold-go/leasehold"
	"github.com/leasehold-go/leasehold/admin"
	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/memory"
)

// mute is an engine that cannot say who holds a name.
type mute struct{ driver.Engine }

func (mute) List(context.Context, driver.Query) ([]driver.Status, error) {
	return nil, errors.New("it is mute")
}

// A run says who holds the lock once, and again when that changes, but not more often than every five seconds. It says
// once that nobody can tell, and nothing when the wait is over.
func TestWaitReport(t *testing.T) {
	t.Parallel()
	for name, wrap := range map[string]func(driver.Engine) driver.Engine{
		"who":  func(e driver.Engine) driver.Engine { return e },
		"mute": func(e driver.Engine) driver.Engine { return mute{e} },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var mu sync.Mutex
				var said []string
				e := memory.New()
				f, _ := newRunFlags()
				r := &waitReport{client: admin.New(wrap(e)), job: job{name: "a", argv: []string{"true"}, runFlags: *f},
					say: func(format string, args ...any) {
						mu.Lock()
						defer mu.Unlock()
						said = append(said, fmt.Sprintf(format, args...))
					}}
				wantSaid := func(when string, texts ...string) {
					t.Helper()
					synctest.Wait()
					mu.Lock()
					defer mu.Unlock()
					if len(said) != len(texts) {
						t.Fatalf("%s: it has said %q, want %q", when, said, texts)
					}
					for i, text := range texts {
						if !strings.Contains(said[i], text) {
							t.Errorf("%s: it has said %q, want %q", when, said[i], text)
						}
					}
				}
				take := func(holder string) *leasehold.Lease {
					c := leasehold.New(e, leasehold.WithHolder(holder))
					t.Cleanup(func() { _ = c.Close() })
					lease, err := c.Mutex("a").TryLock(t.Context())
					if err != nil {
						t.Fatal(err)
					}
					return lease
				}
				first := take("the first")
				ctx, cancel := context.WithCancel(t.Context())
				go r.run(ctx)
				time.Sleep(900 * time.Millisecond)
				wantSaid("before a second has passed")
				time.Sleep(20 * time.Second)
				want := []string{`waiting for "a": held for 1s by the first`}
				if name == "mute" {
					want = []string{`waiting for "a": who holds it cannot be found out: `}
				}
				wantSaid("a long wait", want...)
				_ = first.Release()
				take("the second")
				time.Sleep(5 * time.Second)
				if name == "who" {
					want = append(want, "by the second")
				}
				wantSaid("another holder", want...)
				cancel()
				r.end()
				time.Sleep(20 * time.Second)
				wantSaid("the wait is over", want...)
			})
		})
	}
}
