package redisson

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/leasehold-go/leasehold/internal/redisserver"
	"github.com/leasehold-go/leasehold/lab/redisson/goside"
	"github.com/leasehold-go/leasehold/lab/redisson/javaside"
)

// hammerLatch lets four threads of each language meet at one latch again and again: one of them sets it, each counts
// down once, and nobody passes before all have.
func hammerLatch(t *testing.T, java *javaside.Program, server *redisserver.Server) {
	sides := []*side{{java, "Java"}, {goside.Start(t), "Go"}}
	sides[1].MustOpen("client1", javaside.Single(server.URL()))
	rounds := 0
	for end := time.Now().Add(hammerTime); time.Now().Before(end) && !t.Failed(); rounds++ {
		meetAtALatch(t, fmt.Sprint("latch", rounds%3), sides)
	}
	t.Logf("%d rounds of %d threads", rounds, len(sides)*sidesEach)
}

// meetAtALatch lets the threads of all sides pass a latch that is at zero or not set.
func meetAtALatch(t *testing.T, name string, sides []*side) {
	all := int64(len(sides) * sidesEach)
	var have, counted atomic.Int64 // have set it; have begun to count it down
	var set, passed sync.WaitGroup
	set.Add(int(all))
	for _, s := range sides {
		for i := range sidesEach {
			call := func(method string, args ...any) any {
				v, err := s.Call(t.Context(), javaside.Call{
					Client: "client1", Thread: fmt.Sprint("t", i), Op: "latch." + method, Name: name, Args: args,
				})
				if err != nil {
					t.Errorf("%s in %s: %v", method, s.language, err)
				}
				return v
			}
			passed.Go(func() {
				if call("trySetCount", all) == true {
					have.Add(1)
				}
				set.Done()
				set.Wait()
				time.Sleep(rand.N(5 * time.Millisecond))
				counted.Add(1)
				call("countDown")
				call("await")
				if n := counted.Load(); n != all {
					t.Errorf("%s has passed the latch after %d of %d", s.language, n, all)
				}
			})
		}
	}
	passed.Wait()
	if n := have.Load(); n != 1 {
		t.Errorf("%d threads have set the latch", n)
	}
}
