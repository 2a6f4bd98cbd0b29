package redis_test

import (
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	goredis "github.com/redis/go-redis/v9"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/internal/redisserver"
)

// isScript reports whether a request runs a script.
func isScript(request []byte) bool {
	words := redisserver.Words(request)
	return len(words) > 0 && strings.HasPrefix(strings.ToLower(words[0]), "evalsha")
}

// If a connection is cut before or after a script, the outcome is unknown, even if the client retries. Repeating the
// operation has the intended result, and nothing is left behind.
func TestCutConnection(t *testing.T) {
	t.Parallel()
	s := redisserver.ForTest(t, redisserver.Config{})
	for name, c := range map[string]struct {
		retries int
		client  func(newClient) newClient
	}{
		"Bare":                   {-1, func(c newClient) newClient { return c }},
		"Retrying":               {2, func(c newClient) newClient { return c }},
		"AutoPipeline":           {-1, pipelined},
		"Retrying, AutoPipeline": {2, pipelined},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := redisserver.ProxyForTest(t, s.Addr())
			client := c.client(func(t *testing.T) goredis.UniversalClient {
				return closed(t, goredis.NewClient(&goredis.Options{Addr: p.Addr(), MaxRetries: c.retries}))
			})
			through, healthy := unguarded(t, client), unguarded(t, standalone(s))
			known := lock("known to " + name)
			mustTake(t, through, known) // from now on it knows the server
			release(t, through, known)
			for _, op := range operations {
				scripts := 0
				for _, action := range []redisserver.Action{redisserver.Pass, redisserver.CutBefore,
					redisserver.CutAfter} {
					for cut := 1; cut <= max(scripts, 1); cut++ {
						x := &operationTest{t: t, s: s, name: fmt.Sprintf("<%s-%s-%v-%d>", name, op.name, action, cut),
							faulty: through, healthy: healthy}
						var count atomic.Int64
						x.startFault = func() {
							p.Intercept(func(request []byte) redisserver.Action {
								if isScript(request) && count.Add(1) == int64(cut) {
									return action
								}
								return redisserver.Pass
							})
						}
						x.endFault = func() { p.Intercept(nil) }
						err := op.check(x)
						if action == redisserver.Pass {
							scripts = int(count.Load())
						} else if !op.repeats && (err == nil || driver.HadNoEffect(err)) {
							t.Errorf("%s: %v, want an unknown outcome", x.name, err)
						}
					}
				}
				if scripts == 0 {
					t.Errorf("%s sends no script", op.name)
				}
			}
			checkNothingButLatches(t, s)
		})
	}
}

func checkNothingButLatches(t *testing.T, s *redisserver.Server) {
	t.Helper()
	if keys := endlessKeys(t, s); len(keys) > 0 {
		t.Errorf("these keys have no end: %q", keys)
	}
}
