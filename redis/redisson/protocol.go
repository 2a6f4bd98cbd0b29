package redisson

import (
	"context"
	"errors"

	"github.com/redis/go-redis/v9"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/redis/internal/luascript"
	"github.com/leasehold-go/leasehold/redis/internal/replicas"
)

// call is one script with its keys and arguments. The first key is the name of the object.
type call struct {
	script *luascript.Script
	keys   []string
	args   []any
}

// isRead reports whether the call only reads.
func (c call) isRead() bool {
	switch c.script {
	case lockStatus, fairStatus, readWriteStatus, permitsStatus, permitsLease, latchStatus,
		leakOf, lockRefusal, fairDead, remainsFind:
		return true
	}
	return false
}

// command returns the command that runs the script of a call by its hash.
func (c call) command(ctx context.Context) luascript.SingleCommand {
	return c.script.Command(ctx, c.isRead(), c.keys, c.args) // the user may have no right to write
}

// commandByText is command for a server that does not know the script.
func (c call) commandByText(ctx context.Context) luascript.SingleCommand {
	return c.script.CommandByText(ctx, c.isRead(), c.keys, c.args)
}

// run runs the script of a call.
func (c call) run(ctx context.Context, client redis.UniversalClient) (any, error) {
	return c.script.Run(ctx, client, c.isRead(), c.keys, c.args)
}

// runTogether sends calls together, and reports the answer to each, and why it may not count. Those that a server has
// not run, as it does not know the script, or as another server has the name by now, are sent again, one by one.
func (e *Engine) runTogether(
	ctx context.Context, confirm replicas.Confirmation, on replicas.Connection, calls []call,
	report func(i int, answer any, unconfirmed, err error),
) {
	cmds := make([]luascript.SingleCommand, len(calls))
	sent, together := confirm.Send(ctx, on, calls[0].keys[0], func(pipe redis.Pipeliner) {
		for i, c := range calls {
			cmds[i] = c.command(ctx)
			_ = pipe.Process(ctx, cmds[i]) // a pipeline only queues it
		}
	})
	for i, cmd := range cmds {
		if !sent {
			report(i, nil, nil, explain(together))
			continue
		}
		answer, err := cmd.Result()
		unconfirmed := together
		for _, word := range []string{"NOSCRIPT", "MOVED", "ASK"} {
			if redis.HasErrorPrefix(err, word) {
				answer, unconfirmed, err = e.runConfirmed(ctx, confirm, calls[i])
				break
			}
		}
		if errors.Is(err, redis.Nil) {
			err = nil
		}
		report(i, answer, unconfirmed, explain(err))
	}
}

// protocol is how one kind of Redisson's objects is locked: the calls that go to the server. Takes are answered with
// {1, last token, ...}; or {0, milliseconds that are left of the lease of others, and how soon to ask again if that is
// something else}; or {2, 0} if too many wait. The others but status are answered with 1 or 0.
type protocol interface {
	// take tries once to take what the request asks for. With join, a refused owner is in the queue, if there is one.
	take(name string, r driver.Request, join bool, publish string) call
	release(name string, r driver.Release, publish string) call
	renew(name string, r driver.Renewal, publish string) call
	downgrade(name string, h driver.Hold, publish string) call
	// force takes the object away from the holder with a token; or from those without one, if it is 0: from those
	// owners, or all if owners is empty.
	force(name string, token uint64, owners []string, publish string) call
	// ownersWithoutToken reads them from the answer to status. nil stands for a protocol that cannot tell.
	ownersWithoutToken(status any) []string
	// channel returns where a waiting owner is notified.
	channel(name, owner string) string
	// status reads who holds and waits, and readStatus reads the answer. It returns nobody if something else is stored
	// there.
	status(name string) call
	readStatus(answer any) (driver.Status, error)
}
