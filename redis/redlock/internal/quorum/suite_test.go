package quorum

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/driver/drivertest"
	"github.com/leasehold-go/leasehold/memory"
)

// over makes a quorum over nodes.
func over(nodes ...Node) *Engine {
	c := Config{
		Name: "quorum", Nodes: nodes, Timeout: time.Second, MaxTTL: time.Hour,
		Closed: func(error) (until time.Time, ok bool) { return until, false },
	}
	for i := range nodes {
		c.Names = append(c.Names, fmt.Sprint("node ", i+1))
	}
	return New(c)
}

func TestContract(t *testing.T) {
	t.Parallel()
	for _, n := range []int{2, 3} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			t.Parallel()
			drivertest.Run(t, drivertest.Harness{Start: func(*testing.T) drivertest.Place {
				var nodes []Node
				for range n {
					nodes = append(nodes, memory.New())
				}
				return drivertest.Place{Open: func(t *testing.T) driver.Engine {
					e := over(nodes...)
					t.Cleanup(e.Close)
					return settled{e}
				}}
			}})
		})
	}
}

// settled is a quorum that answers when all nodes have. The suite looks at once at what a request has done, and who else comes then may
// be granted a node that is slow.
type settled struct{ *Engine }

func (s settled) Take(ctx context.Context, r driver.Request) (driver.Grant, error) {
	g, err := s.Engine.Take(ctx, r)
	for !s.Idle() {
		time.Sleep(time.Millisecond)
	}
	return g, err
}

// Wait does so, too: the suite releases what was granted to one engine through another one, which does not know what is still under way.
func (s settled) Wait(ctx context.Context, r driver.Request) (driver.Grant, error) {
	g, err := s.Engine.Wait(ctx, r)
	for err == nil && !s.Idle() {
		time.Sleep(time.Millisecond)
	}
	return g, err
}
