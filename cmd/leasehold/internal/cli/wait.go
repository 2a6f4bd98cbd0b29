//go:build unix

package cli

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"github.com/leasehold-go/leasehold"
	"github.com/leasehold-go/leasehold/admin"
	"github.com/leasehold-go/leasehold/cmd/leasehold/internal/exit"
)

const (
	// The bounds of the time between two polls of a name that is held.
	minPollInterval = 250 * time.Millisecond
	maxPollInterval = time.Second
)

// waitFlags are the flags of wait, and its argument.
type waitFlags struct {
	name      string
	kind      choice
	wait      period
	waitGiven bool // --wait was given
}

func (a *app) wait() *cobra.Command {
	f := waitFlags{kind: newKind()}
	cmd := &cobra.Command{
		Use:   "wait [flags] NAME",
		Short: "Wait until nobody holds a name",
		Long: `Wait until nobody holds a name, in whatever way, and a latch has come down to zero.

It polls, up to four times a second, and takes nothing: waiters of leasehold run are served first, and by the time
it returns somebody may hold the name again. It does not see what comes and goes between two polls. To do something
only while nobody else does, use leasehold run.

While the engine is unavailable, or grants nothing to anybody because it may have forgotten leases, it keeps
polling, and says so once. The first poll must succeed.

Exit codes: 0 nobody holds it; 75 it was held until --wait was over; 69 it was not known then whether anybody
holds it; 128+N if signal N ended the wait; 64, 69 as for all commands.`,
		Example:           `  leasehold wait --wait 10m deploy:shop && ./smoke-test`,
		Args:              exactArgs(1),
		ValidArgsFunction: a.completeNames,
		RunE: func(cmd *cobra.Command, args []string) error {
			f.name, f.waitGiven = args[0], cmd.Flags().Changed("wait")
			return a.withAdmin(cmd, func(ctx context.Context, c *admin.Client) error {
				return a.awaitFree(ctx, c, f)
			})
		},
	}
	cmd.Flags().Var(&f.kind, "kind", "only this kind")
	cmd.Flags().VarP(&f.wait, "wait", "w", "wait at most this long; 0 polls once (default for ever)")
	return cmd
}

// awaitFree polls until nobody holds the name.
func (a *app) awaitFree(ctx context.Context, c *admin.Client, f waitFlags) error {
	end := time.Now().Add(time.Duration(f.wait))
	toldClosed := false
	for seen, away := false, false; ; {
		found, err := inspectName(ctx, c, f.name, f.kind)
		var closed *leasehold.GrantsClosedError
		if err == nil && !held(found) {
			closed, err = grantsClosed(ctx, c, f.name, f.kind)
		}
		if closed != nil && !toldClosed {
			toldClosed = true
			a.say("waiting: %s", closed)
		}
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil && !seen:
			return err
		case err != nil && !away:
			a.sayUnavailable(errorText(err))
		case err == nil && !held(found) && closed == nil:
			return nil
		case err == nil && away:
			a.sayAvailable()
		}
		if err := f.refuseOwnHold(found); err != nil {
			return err
		}
		seen, away = true, err != nil
		next := pollInterval(found)
		if closed != nil {
			next = maxPollInterval
		}
		if f.waitGiven {
			left := time.Until(end)
			switch {
			case left <= 0 && away:
				return err // whether it is free is not known
			case left <= 0 && closed != nil:
				return exit.Errorf(exit.Unavailable, "%q was not free within %s: %w", f.name, time.Duration(f.wait),
					closed)
			case left <= 0:
				return exit.Errorf(exit.Held, "%q was not free within %s: see leasehold inspect, or wait longer",
					f.name, time.Duration(f.wait))
			}
			next = min(next, left)
		}
		if err := pause(ctx, next); err != nil {
			return err
		}
	}
}

// refuseOwnHold returns an error if an enclosing run holds the name: waiting would never end.
func (f waitFlags) refuseOwnHold(found []admin.Status) error {
	o, err := heldByEnclosing(func() ([]admin.Status, error) { return found, nil }, kinds[f.kind.value], f.name)
	if err == nil && o.pid != 0 {
		err = exit.Errorf(exit.Held,
			"%q is held by a run around this wait (process %d), which waits for this wait to end, so it would last "+
				"for ever", f.name, o.pid)
	}
	return err
}

// pollInterval returns the time until the next poll: the remaining time of the longest lease, within bounds. Most
// leases are renewed, and end with a release.
func pollInterval(found []admin.Status) time.Duration {
	var longest time.Duration
	for _, s := range found {
		for _, h := range s.Holders {
			if longest = max(longest, h.TTL); h.TTL < 0 {
				return maxPollInterval
			}
		}
	}
	return min(max(longest, minPollInterval), maxPollInterval)
}
