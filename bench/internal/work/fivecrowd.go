package work

import (
	"context"
	"errors"
	"time"

	"github.com/leasehold-go/leasehold/bench/internal/ballot"
)

// watchVotes is how long the votes of nodes are looked at.
const watchVotes = 700 * time.Millisecond

// openFiveCrowd: the crowd on five nodes. When its rate has been measured, it goes on while somebody looks at how the nodes vote, which costs them something.
func openFiveCrowd(e Env) (*Bench, error) {
	return open(&crowd{env: e, watch: func(ctx context.Context, name string) (Sample, error) {
		m, err := ballot.Watch(ctx, e.Place.Addrs(), name)
		if err != nil {
			return nil, err
		}
		err = pause(ctx, watchVotes)
		seen, failed := m.Stop()
		return Sample{{splitVotes, "%", seen.SplitShare()}}, errors.Join(err, failed)
	}})
}
