package redisson

import (
	"testing"
	"time"

	"github.com/leasehold-go/leasehold/internal/redisserver"
	"github.com/leasehold-go/leasehold/lab/redisson/javaside"
	"github.com/leasehold-go/leasehold/lab/redisson/register"
)

// hammered are the kinds of objects that are hammered, each under one name.
var hammered = map[string]javaside.Hammer{
	"lock":      {Kinds: []string{"lock"}, Again: 20},
	"fair":      {Kinds: []string{"fair"}, Again: 20},
	"spin":      {Kinds: []string{"spin"}, Again: 20},
	"fenced":    {Kinds: []string{"fenced"}},
	"readwrite": {Kinds: []string{"read", "read", "write"}, Again: 20},
	"semaphore": {Kinds: []string{"semaphore"}, Permits: 2},
	"permits":   {Kinds: []string{"permits"}},
}

// capacity is how many permits the semaphores have.
const capacity = 3

// Redisson's own clients exclude each other, as the register sees it: what it finds later beside clients of ours is
// ours.
func TestRedissonExcludesItself(t *testing.T) {
	t.Parallel()
	s := redisserver.ForTest(t, redisserver.Config{})
	java := javaside.Start(t, javaside.Newest)
	// Now and then all waiters of a fair lock wait although it is free, until a lease would have ended.
	c := javaside.Single(s.URL())
	c.Watchdog = 3 * time.Second
	java.MustOpen("a", c)
	java.MustOpen("b", c)
	for kind, h := range hammered {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			r := register.New()
			r.SetCapacity(kind, capacity)
			if kind == "semaphore" || kind == "permits" {
				java.MustCall("a", kind+".trySetPermits", kind, capacity)
			}
			h.Threads, h.For, h.Seed = 2, hammerTime, time.Now().UnixNano()%1000
			h.Hold, h.Pause, h.Wait = 5*time.Millisecond, 5*time.Millisecond, 100*time.Millisecond
			h.Register = r.Listen(t).Addr()
			outcome := make(chan error, 2)
			for _, client := range []string{"a", "b"} {
				go func() {
					did, err := java.Hammer(t.Context(), client, kind, h)
					t.Logf("%s: %d holds, %d refused", client, did.Holds, did.Refused)
					for _, f := range did.Failures {
						t.Errorf("%s: %s", client, f)
					}
					if err == nil && did.Holds == 0 {
						t.Errorf("%s has held nothing", client)
					}
					outcome <- err
				}()
			}
			for range 2 {
				if err := <-outcome; err != nil {
					t.Error(err)
				}
			}
			for _, o := range r.Overlaps() {
				t.Error(o)
			}
		})
	}
}
