package lib

import (
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/leasehold-go/leasehold/internal/needed"
	"github.com/leasehold-go/leasehold/internal/redisserver"
)

// Recorded commands lock and release as their library does: others are excluded meanwhile, and a release that finds
// nothing is an error.
func TestRawCommandsLock(t *testing.T) {
	t.Parallel()
	for _, l := range []Library{RawPlain, RawFenced, RawRLock, RawRFencedLock} {
		t.Run(l.Name, func(t *testing.T) {
			t.Parallel()
			at := redisserver.ForTest(t, redisserver.Config{}).Addr()
			s, err := l.Open(Config{Addrs: []string{at}})
			if Missing(err) && !needed.Servers() {
				t.Skip(err)
			}
			noErr(t, err)
			defer func() { noErr(t, s.Close()) }()
			c := goredis.NewClient(&goredis.Options{Addr: at})
			defer c.Close()
			for range 2 {
				held, err := s.Lock(t.Context(), "x")
				noErr(t, err)
				if left, err := c.PTTL(t.Context(), "x").Result(); err != nil || left < 20*time.Second {
					t.Errorf("what is left of the lease: %v, %v", left, err)
				}
				noErr(t, held.Release())
				if n, err := c.Exists(t.Context(), "x").Result(); err != nil || n != 0 {
					t.Errorf("after the release there are %d keys, %v", n, err)
				}
				if err := held.Release(); err == nil {
					t.Error("a second release is no error")
				}
			}
		})
	}
}
