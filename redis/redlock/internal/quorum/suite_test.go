package quorum

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/driver/drivertest"
)

// newQuorum returns a quorum of the nodes.
func newQuorum(nodes ...Node) *Engine {
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
			drivertest.Run(t, drivertest.Harness{Start: func(*testing.T) drivertest.Environment {
				var nodes []Node
				for range n {
					nodes = append(nodes, newMemoryNode())
				}
				return drivertest.Environment{Open: func(t *testing.T) driver.Engine {
					e := newQuorum(nodes...)
					t.Cleanup(e.Close)
					return settledEngine{e}
				}}
			}})
		})
	}
}

// settledEngine is a quorum that answers when all nodes have. The suite checks at once what a request has
// done, and another owner might meanwhile be granted the name by a slow node.
type settledEngine struct{ *Engine }

func (s settledEngine) Take(ctx context.Context, r driver.Request) (driver.Grant, error) {
	g, err := s.Engine.Take(ctx, r)
	for !s.Idle() {
		time.Sleep(time.Millisecond)
	}
	return g, err
}

// Wait also waits until all nodes have answered. The suite releases through one engine what was granted to
// another, and the first knows nothing of the other's requests in flight.
func (s settledEngine) Wait(ctx context.Context, r driver.Request) (driver.Grant, error) {
	g, err := s.Engine.Wait(ctx, r)
	for err == nil && !s.Idle() {
		time.Sleep(time.Millisecond)
	}
	return g, err
}
