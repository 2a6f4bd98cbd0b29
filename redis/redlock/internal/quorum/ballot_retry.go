package quorum

import (
	"context"
	"slices"
	"time"

	"github.com/leasehold-go/leasehold/driver"
)

// shouldRetry reports whether nodes that refuse are to be asked again. That helps while a release is still in flight to
// some of them.
func (b *ballot) shouldRetry() bool {
	if b.token != 0 ||
		!slices.ContainsFunc(b.votes, func(v Vote) bool { return v.Answer == Held && !v.noRetry }) {
		return false
	}
	switch b.arbiterAnswer() {
	case Closed:
		return false
	case Held:
		// The owner that the arbiter refuses gives way, so when many ask at once, one of them is granted the name. An
		// exception is an owner that could still have a majority, if only the nodes that do not answer did: it may wait
		// for them in vain. It asks again for a while, since a late release is the most likely reason, and then gives
		// way: the owner to which the arbiter has granted the name needs its votes, and asks for longer.
		waitedEnough := b.retries >= minArbiterRetries && driver.Now().Since(b.start) >= b.retryTime()/10
		if !b.isStuck() || waitedEnough {
			return false
		}
	}
	return driver.Now().Since(b.start) < b.retryTime()
}

// minArbiterRetries is how often the arbiter is asked again, however slowly it answers, before an owner that it refuses
// gives way.
const minArbiterRetries = 3

// isStuck reports whether a majority has answered, and neither grants the name nor refuses it.
func (b *ballot) isStuck() bool {
	majority := b.engine.majority
	return b.pending > 0 && len(b.votes)-b.pending >= majority &&
		b.grantCount < majority && b.grantCount+b.pending >= majority
}

// arbiterAnswer is what the arbiter has answered.
func (b *ballot) arbiterAnswer() Answer {
	if b.arbiter == nil {
		b.arbiter = b.engine.arbiter(b.request.Key)
	}
	return b.votes[b.arbiter.index].Answer
}

// retryTime is for how long nodes that refuse are asked again: as long as the other owners have to learn that the
// arbiter refuses them, and to be released. Counting attempts instead would end too soon on a busy machine, and leave a
// free name to nobody. It is at most half of the ttl, so that enough is left of the lease.
func (b *ballot) retryTime() time.Duration { return min(b.engine.Timeout, b.request.TTL/2) }

// nextPause counts a retry, and returns the pause before it: longer each time. The first one is short, since a release
// is usually just being done.
func (b *ballot) nextPause() time.Duration {
	b.retries++
	return b.engine.jitter(minRetryPause << min(b.retries-1, 7))
}

// retryRefusals asks the nodes that refuse once more.
func (b *ballot) retryRefusals(ctx context.Context) {
	nodeCtx := b.engine.withNodeDeadline(ctx)
	for i, n := range b.engine.nodes {
		if b.votes[i].Answer == Held && !b.votes[i].noRetry {
			b.votes[i].noRetry = true
			b.askNode(nodeCtx, n)
		}
	}
}
