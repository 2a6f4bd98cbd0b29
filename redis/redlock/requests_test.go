package redlock_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/leasehold-go/leasehold"
	"github.com/leasehold-go/leasehold/internal/redisserver"
)

// requestCounter counts requests to a server, without those at the beginning of a connection.
type requestCounter struct {
	mu       sync.Mutex
	requests int
}

func (c *requestCounter) countRequest(request []byte) redisserver.Action {
	c.mu.Lock()
	defer c.mu.Unlock()
	words := redisserver.Words(request)
	if len(words) == 0 || !slices.Contains([]string{"hello", "client"}, strings.ToLower(words[0])) {
		c.requests++
	}
	return redisserver.Pass
}

// reset returns how many requests there were since the last reset.
func (c *requestCounter) reset() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := c.requests
	c.requests = 0
	return n
}

// A free lock costs one request to each server, and its release another one. All servers grant the same
// token, so nothing is raised. Where they cannot, since their counters differ, a majority of them is asked
// once more.
func TestOneRequestToEachServer(t *testing.T) {
	t.Parallel()
	const rounds = 20
	s := servers(t, 5)
	counters := make([]requestCounter, len(s))
	var at []string
	for i := range s {
		p := redisserver.ProxyForTest(t, s[i].Addr())
		p.Intercept(counters[i].countRequest)
		at = append(at, p.Addr())
	}
	e := open(t, at, patient) // the guard would also ask each server once a second what it is
	c := leasehold.New(e)
	t.Cleanup(func() { c.Close() })
	settle := func(name string, held bool) {
		t.Helper()
		awaitKeys(t, s, name, held)
		await(t, "all servers have answered", e.Idle)
	}
	// pair returns the number of requests to all servers for a take, and for the release. It waits until each
	// has reached all servers: a release that overtakes a take must be sent again.
	pair := func(name string) (takes, releases int) {
		t.Helper()
		lease, err := c.Mutex(name).Lock(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		settle(name, true)
		for i := range counters {
			n := counters[i].reset()
			if takes += n; n != 1 && name == "equal" {
				t.Errorf("server %d got %d requests for a take", i, n)
			}
		}
		if err := lease.Release(); err != nil {
			t.Fatal(err)
		}
		settle(name, false)
		for i := range counters {
			n := counters[i].reset()
			if releases += n; n != 1 {
				t.Errorf("server %d got %d requests for a release", i, n)
			}
		}
		return takes, releases
	}
	warm, err := c.Mutex("warm up").Lock(t.Context()) // the servers are initialized, and learn the scripts
	if err != nil {
		t.Fatal(err)
	}
	settle("warm up", true)
	if err := warm.Release(); err != nil {
		t.Fatal(err)
	}
	settle("warm up", false)
	for i := range counters {
		if counters[i].reset() == 0 {
			t.Fatal("nothing is counted")
		}
	}
	for range rounds {
		pair("equal")
	}
	for range rounds { // also with a release at once, when some servers have not answered yet
		lease, err := c.Mutex("at once").Lock(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if err := lease.Release(); err != nil {
			t.Fatal(err)
		}
		settle("at once", false)
	}
	for i := range counters {
		if n := counters[i].reset(); n != 2*rounds {
			t.Errorf("server %d got %d requests for %d takes and releases", i, n, rounds)
		}
	}
	var token any
	for i, server := range s {
		last := mustCommand(t, server, "GET", "{lock:equal}:token")
		if token == nil {
			token = last
		}
		if last != token {
			t.Errorf("the last token of server %d is %v, that of the first %v", i, last, token)
		}
	}
	for i, server := range s {
		mustCommand(t, server, "SET", "{lock:apart}:token", fmt.Sprintf("800000000000000%d", i+1))
	}
	if takes, releases := pair("apart"); takes < 5+2 || releases != 5 {
		t.Errorf("with tokens that differ: %d requests for a take, want two or more besides the five; %d for a release",
			takes, releases)
	}
}
