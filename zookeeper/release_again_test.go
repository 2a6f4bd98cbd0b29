package zookeeper

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/internal/redisserver"
)

// releaseLimit is how long a release of these tests may take, on a machine that may be busy.
const releaseLimit = 30 * time.Second

// cutAfterRelease takes a lock, injects a fault into the connection, releases the lock, and cuts the connection once
// the release was sent. It returns the result of the release.
func cutAfterRelease(
	t *testing.T, s *redisserver.Proxy, e *Engine, r driver.Release, inject func(), sent func() bool, heal func(),
) error {
	t.Helper()
	inject()
	before := e.client.currentConnection().sent.Load()
	done := make(chan error, 1)
	go func() {
		ctx, cancel := context.WithTimeout(context.Background(), releaseLimit)
		defer cancel()
		done <- e.Release(ctx, r)
	}()
	eventually(t, "the release is sent", func() bool {
		l := e.client.currentConnection()
		return l != nil && l.sent.Load() > before && sent()
	})
	s.Cut()
	heal()
	return <-done
}

// A release whose connection ends before it has arrived is sent again on the next one, within its limit, whatever kind
// of release it is.
func TestReleaseIsAskedForAgainOnTheNextConnection(t *testing.T) {
	t.Parallel()
	for name, prepare := range map[string]func(e *Engine, r driver.Request) time.Duration{
		"held":     func(*Engine, driver.Request) time.Duration { return 0 },
		"in doubt": func(e *Engine, r driver.Request) time.Duration { loseTake(e, r); return 0 },
		"kept":     func(*Engine, driver.Request) time.Duration { return time.Minute },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := redisserver.ProxyForTest(t, server(t).Addr())
			e, other := openOn(t, p), openAt(t, server(t))
			r := lock(t, "a")
			mustTake(t, e, r)
			keep := prepare(e, r)
			release := driver.Release{Hold: hold(r), Keep: keep}
			err := cutAfterRelease(t, p, e, release, p.Freeze, func() bool { return true }, p.Thaw)
			if err != nil {
				t.Errorf("Release: %v", err)
			}
			for _, left := range nodes(t, other, r.Key) {
				if keep == 0 || !strings.HasPrefix(left.name, keptMark) {
					t.Errorf("there is still %s", left.name)
				}
			}
		})
	}
}

// A release whose answer is lost with its connection is sent again, too. It finds nothing then, which does not tell
// whether the lock was held until the release: the outcome is unknown, and nothing is left behind.
func TestReleaseWhoseAnswerIsLostIsUnknown(t *testing.T) {
	t.Parallel()
	p := redisserver.ProxyForTest(t, server(t).Addr())
	e, other := openOn(t, p), openAt(t, server(t))
	r := lock(t, "a")
	mustTake(t, e, r)
	arrived := func() bool { return len(nodes(t, other, r.Key)) == 0 }
	err := cutAfterRelease(t, p, e, driver.Release{Hold: hold(r)}, p.SwallowReplies, arrived, p.PassReplies)
	if err == nil || driver.IsNo(err) || driver.HadNoEffect(err) {
		t.Errorf("Release: %v, want unknown", err)
	}
	mustTake(t, other, lock(t, "a"))
}

// openOn opens an engine that uses a proxy, and whose session never ends during the test.
func openOn(t *testing.T, p *redisserver.Proxy) *Engine {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), releaseLimit)
	defer cancel()
	e, err := New(ctx, []string{p.Addr()}, WithSessionTimeout(longSession))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = e.Close() })
	return e
}
