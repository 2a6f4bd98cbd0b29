package lib

import (
	"context"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/leasehold-go/leasehold/lab/bench/internal/servers"
)

// on returns how many nodes have any key.
func on(t *testing.T, at servers.Backend) (n int) {
	t.Helper()
	for _, addr := range at.Addrs() {
		c := goredis.NewClient(&goredis.Options{Addr: addr})
		defer c.Close()
		keys, err := c.DBSize(context.Background()).Result()
		noErr(t, err)
		if keys > 0 {
			n++
		}
	}
	return n
}

func TestLibrariesOnFiveNodesLockMostOfThem(t *testing.T) {
	t.Parallel()
	for _, l := range Five {
		t.Run(l.Name, func(t *testing.T) {
			t.Parallel()
			s, at := session(t, l)
			held, err := s.Lock(t.Context(), "name")
			noErr(t, err)
			if n := on(t, at); n < 3 {
				t.Errorf("%d nodes have the lock", n)
			}
			noErr(t, held.Release())
		})
	}
}

func TestFloorOfFiveNeedsAMajority(t *testing.T) {
	t.Parallel()
	_, at := session(t, FloorFive)
	well := at.Addrs()
	for name, c := range map[string]struct {
		addrs []string
		locks bool
	}{
		"two are gone":   {[]string{well[0], well[1], well[2], "127.0.0.1:1", "127.0.0.1:1"}, true},
		"three are gone": {[]string{well[0], well[1], "127.0.0.1:1", "127.0.0.1:1", "127.0.0.1:1"}, false},
	} {
		s, err := FloorFive.Open(Config{Addrs: c.addrs})
		noErr(t, err)
		held, err := s.Lock(t.Context(), "name:"+name)
		if (err == nil) != c.locks {
			t.Errorf("%s: %v", name, err)
		}
		if err == nil {
			noErr(t, held.Release())
		}
		noErr(t, s.Close())
	}
}

func TestFloorOfFivePassesOverANodeThatIsSilent(t *testing.T) {
	t.Parallel()
	s, at := session(t, FloorFive)
	stopped := at.(*servers.Nodes).Stopped()
	noErr(t, stopped.Break())
	defer func() { noErr(t, stopped.Fix()) }()
	began := time.Now()
	for range backlog { // two requests each: more than may be in flight
		held, err := s.Lock(t.Context(), "name")
		noErr(t, err)
		noErr(t, held.Release())
	}
	if took := time.Since(began); took > 30*time.Second {
		t.Errorf("%d pairs took %v", backlog, took)
	}
}
