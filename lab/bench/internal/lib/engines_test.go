package lib

import (
	"context"
	"math"
	"testing"
	"time"

	"github.com/leasehold-go/leasehold/lab/bench/internal/wire"
)

// A held name is locked for others, which give up or are refused, and can be locked again after its
// release. All requests are counted.
func TestLibrariesOnOtherServersLockAndCount(t *testing.T) {
	t.Parallel()
	commands := map[string]int64{ // for a free name
		"leasehold postgres": 2, "advisory": 2, "floor postgres": 2, "pglock's statements": 3,
		"leasehold etcd": 2, "etcd": 2, "leasehold zookeeper": 2, "zk recipe": 3,
	}
	for _, libraries := range [][]Library{Postgres, OnEtcd, ZooKeeper} {
		t.Run(string(libraries[0].On), func(t *testing.T) {
			t.Parallel()
			_, at := session(t, libraries[0])
			for _, l := range libraries {
				var sent wire.Counter
				s, err := l.Open(Config{Addrs: at.Addrs(), Sent: &sent})
				noErr(t, err)
				other, err := l.Open(Config{Addrs: at.Addrs()})
				noErr(t, err)
				checkExclusion(t, l.Name, s, other)
				checkExclusion(t, l.Name, other, s)
				noErr(t, other.Close())
				if n, want := least(t, l.Name+" alone", s, &sent), commands[l.Name]; n != want {
					t.Errorf("%s: %d commands to lock and release a free name, want %d", l.Name, n, want)
				}
				noErr(t, s.Close())
			}
		})
	}
}

// checkExclusion checks that another session cannot lock a name until the first one releases it.
func checkExclusion(t *testing.T, name string, one, another Session) {
	t.Helper()
	held, err := one.Lock(t.Context(), name)
	noErr(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := another.Lock(ctx, name); err == nil {
		t.Errorf("%s: granted twice", name)
	}
	noErr(t, held.Release())
}

// least returns how many commands it takes to lock and release a name when nothing else, such as a
// heartbeat, is sent meanwhile.
func least(t *testing.T, name string, s Session, sent *wire.Counter) int64 {
	t.Helper()
	n := int64(math.MaxInt64)
	for range 10 {
		before := sent.Commands()
		held, err := s.Lock(t.Context(), name)
		noErr(t, err)
		noErr(t, held.Release())
		n = min(n, sent.Commands()-before)
	}
	return n
}
