package work

import (
	"context"
	"errors"
	"time"

	"github.com/leasehold-go/leasehold/lab/bench/internal/votecount"
)

// voteWatchTime is how long the votes of nodes are observed.
const voteWatchTime = 700 * time.Millisecond

// openFiveContention prepares contention on five nodes. After its rate has been measured, it
// continues while the votes of the nodes are observed, which slows them down.
func openFiveContention(e Env) (*Bench, error) {
	return openContentionOf(&contention{env: e, watch: func(ctx context.Context, name string) (Sample, error) {
		m, err := votecount.Watch(ctx, e.Backend.Addrs(), name)
		if err != nil {
			return nil, err
		}
		err = pause(ctx, voteWatchTime)
		seen, failed := m.Stop()
		return Sample{{splitVotes, "%", seen.SplitShare()}}, errors.Join(err, failed)
	}})
}
