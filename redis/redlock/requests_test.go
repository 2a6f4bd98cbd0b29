package redlock_test

import (
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/leasehold-go/leasehold"
	"github.com/leasehold-go/leasehold/internal/redisserver"
)

// counted is what a server is asked, but for what a client says at the beginning of a connection.
type counted struct {
	mu       sync.Mutex
	requests int
}

func (c *counted) hear(request []byte) redisserver.Action {
	c.mu.Lock()
	defer c.mu.Unlock()
	if words := redisserver.Words(request); len(words) == 0 || !slices.Contains([]string{"hello", "client"}, strings.ToLower(words[0])) {
		c.requests++
	}
	return redisserver.Pass
}

// since returns how many requests there were since the last time.
func (c *counted) since() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := c.requests
	c.requests = 0
	return n
}

// A lock that is free costs one request to each server, and its release another one. All give the same token, so nothing is raised. Where they cannot, since they
// have counted up to different tokens, a majority of them is asked once more.
func TestOneRequestToEachServer(t *testing.T) {
	t.Parallel()
	const rounds = 20
	s := servers(t, 5)
	heard := make([]counted, len(s))
	var at []string
	for i := range s {
		p := redisserver.ProxyForTest(t, s[i].Addr())
		p.Intercept(heard[i].hear)
		at = append(at, p.Addr())
	}
	e := open(t, at, patient) // with the guard, each is asked once a second besides what it is
	c := leasehold.New(e)
	t.Cleanup(func() { c.Close() })
	settle := func(name string, held bool) {
		t.Helper()
		all(t, s, name, held)
		await(t, "all servers have answered", e.Idle)
	}
	// pair returns how many requests there were to all servers for the take, and for the release. Each is waited for, on all servers: a release that overtakes a
	// take is sent again, as it must.
	pair := func(name string) (takes, releases int) {
		t.Helper()
		lease, err := c.Mutex(name).Lock(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		settle(name, true)
		for i := range heard {
			n := heard[i].since()
			if takes += n; n != 1 && name == "equal" {
				t.Errorf("server %d got %d requests for a take", i, n)
			}
		}
		if err := lease.Release(); err != nil {
			t.Fatal(err)
		}
		settle(name, false)
		for i := range heard {
			n := heard[i].since()
			if releases += n; n != 1 {
				t.Errorf("server %d got %d requests for a release", i, n)
			}
		}
		return takes, releases
	}
	warm, err := c.Mutex("warm up").Lock(t.Context()) // the servers are met, and learn the scripts
	if err != nil {
		t.Fatal(err)
	}
	settle("warm up", true)
	if err := warm.Release(); err != nil {
		t.Fatal(err)
	}
	settle("warm up", false)
	for i := range heard {
		if heard[i].since() == 0 {
			t.Fatal("nothing is counted")
		}
	}
	for range rounds {
		pair("equal")
	}
	for range rounds { // and also if it is released at once, when some servers have not answered yet
		lease, err := c.Mutex("at once").Lock(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if err := lease.Release(); err != nil {
			t.Fatal(err)
		}
		settle("at once", false)
	}
	for i := range heard {
		if n := heard[i].since(); n != 2*rounds {
			t.Errorf("server %d got %d requests for %d takes and releases", i, n, rounds)
		}
	}
	var token any
	for i, server := range s {
		last := tell(t, server, "GET", "{lock:equal}:token")
		if token == nil {
			token = last
		}
		if last != token {
			t.Errorf("the last token of server %d is %v, that of the first %v", i, last, token)
		}
	}
	for i, server := range s {
		tell(t, server, "SET", "{lock:apart}:token", []string{"8000000000000001", "8000000000000002", "8000000000000003", "8000000000000004", "8000000000000005"}[i])
	}
	if takes, releases := pair("apart"); takes < 5+2 || releases != 5 {
		t.Errorf("with tokens that differ: %d requests for a take, want two or more besides the five; %d for a release", takes, releases)
	}
}
