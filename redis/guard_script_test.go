package redis

import (
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/leasehold-go/leasehold/internal/redisserver"
)

// guarded runs guard.lua for an engine with some longest ttl, and returns for how long grants stay closed.
type guarded struct {
	t      *testing.T
	server *redisserver.Server
	marker string
}

// life is what a server says of itself.
type life struct {
	identity string
	up       time.Duration
	promoted bool
}

func (g guarded) asks(longest time.Duration, l life) time.Duration {
	g.t.Helper()
	former := "0"
	if l.promoted {
		former = "1"
	}
	answer := command(g.t, g.server, "EVAL", guardLua, "1", g.marker, l.identity, ms(longest), ms(l.up), former)
	n, err := strconv.ParseInt(answer, 10, 64)
	if err != nil {
		g.t.Fatal(err)
	}
	return time.Duration(n) * time.Millisecond
}

func ms(d time.Duration) string { return strconv.FormatInt(d.Milliseconds(), 10) }

// closed fails the test unless grants are closed for so long, less what the test has taken.
func (g guarded) closed(is, want time.Duration) {
	g.t.Helper()
	if is > want || is < want-20*time.Second || want > 0 && is == 0 {
		g.t.Errorf("grants are closed for %v, want %v", is, want)
	}
}

// left writes what another engine has left behind: when grants open, as seen from now.
func (g guarded) left(identity string, opens, longest time.Duration) {
	g.t.Helper()
	at := time.Now().Add(opens).UnixMilli()
	command(g.t, g.server, "SET", g.marker, fmt.Sprintf("%s %d %d", identity, at, longest.Milliseconds()))
}

func TestGuard(t *testing.T) {
	t.Parallel()
	s := redisserver.ForTest(t, redisserver.Config{})
	const (
		longest = time.Hour
		longer  = 3 * time.Hour
		ago     = -24 * time.Hour
	)
	for name, check := range map[string]func(g guarded){
		"a server that has run for long is open": func(g guarded) {
			g.closed(g.asks(longest, life{identity: "a", up: 10 * longest}), 0)
			g.closed(g.asks(longest, life{identity: "a", up: 10 * longest}), 0)
		},
		"one that was started may have lost all leases": func(g guarded) {
			g.closed(g.asks(longest, life{identity: "a", up: 0}), longest)
		},
		"those that were granted before its start go on ending": func(g guarded) {
			g.closed(g.asks(longest, life{identity: "a", up: longest / 4}), 3*longest/4)
		},
		"a server that was promoted may lack leases, however long it has run": func(g guarded) {
			g.closed(g.asks(longest, life{identity: "a-b", up: 10 * longest, promoted: true}), longest)
		},
		"so may one whose marker is that of another": func(g guarded) {
			g.left("a", ago, longest)
			g.closed(g.asks(longest, life{identity: "b", up: 10 * longest}), longest)
		},
		"and one that was started again, and has kept its marker": func(g guarded) {
			g.left("a", ago, longest)
			g.closed(g.asks(longest, life{identity: "b", up: longest / 2}), longest)
		},
		"an uptime that makes no sense counts as none": func(g guarded) {
			g.closed(g.asks(longest, life{identity: "a", up: -time.Second}), longest)
		},
		"who comes later waits no longer than the first": func(g guarded) {
			g.left("a", longest/3, longest)
			g.closed(g.asks(longest, life{identity: "a", up: longest, promoted: true}), longest/3)
		},
		"what has been open stays open": func(g guarded) {
			g.left("a", ago, longest)
			g.closed(g.asks(longest, life{identity: "a", promoted: true}), 0)
		},
		"a clock that was set back closes for no longer than a lease lasts": func(g guarded) {
			g.left("a", 100*longest, longest)
			g.closed(g.asks(longest, life{identity: "a"}), longest)
		},
		"longer leases of an engine that came before are waited for": func(g guarded) {
			g.left("a", ago, longer)
			g.closed(g.asks(longest, life{identity: "b"}), longer)
			g.closed(g.asks(longest, life{identity: "b"}), longer)
		},
		"those of an engine that comes later, too": func(g guarded) {
			g.closed(g.asks(longest, life{identity: "a", up: longest}), 0)
			g.closed(g.asks(longer, life{identity: "a", up: longest}), longer-longest)
			g.closed(g.asks(longest, life{identity: "a", up: longest}), longer-longest)
		},
		"but not on a server that has run for longer than they last": func(g guarded) {
			g.closed(g.asks(longest, life{identity: "a", up: longer}), 0)
			g.closed(g.asks(longer, life{identity: "a", up: longer}), 0)
		},
		"a marker that cannot be read counts as none": func(g guarded) {
			command(g.t, g.server, "SET", g.marker, "a b c")
			g.closed(g.asks(longest, life{identity: "a", up: longest / 2}), longest/2)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			check(guarded{t, s, name})
		})
	}
}
