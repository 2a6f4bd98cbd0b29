//go:build unix

package cli

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"github.com/leasehold-go/leasehold"
	"github.com/leasehold-go/leasehold/cmd/leasehold/internal/exit"
)

const (
	// A name that is held is looked at again no sooner than this,
	soonest = 250 * time.Millisecond
	// and no later.
	latest = time.Second
)

// waitFlags are the flags of wait, and its word.
type waitFlags struct {
	name    string
	kind    choice
	wait    period
	limited bool // --wait was given
}

func (a *app) wait() *cobra.Command {
	f := waitFlags{kind: newKind()}
	cmd := &cobra.Command{
		Use:   "wait NAME",
		Short: "Wait until nobody holds a name",
		Long: `Wait until nobody holds a name, in whatever way, and a latch has come down to zero.

It only looks, up to four times a second, and takes nothing: who waits with leasehold run is served in turn, and by the time the
answer is here somebody may hold the name again. What comes and goes between two looks is not seen. To do something only while nobody
else does, use leasehold run.

While the engine is away it looks on, and says so once. The first look must succeed.

Exit codes: 0 nobody holds it; 75 it was held until --wait was over; 128+N if signal N ended the waiting; 64, 69 as for
all commands.`,
		Args:              words(1, "leasehold wait [flags] NAME"),
		ValidArgsFunction: a.names,
		RunE: func(cmd *cobra.Command, args []string) error {
			f.name, f.limited = args[0], cmd.Flags().Changed("wait")
			return a.asking(cmd, func(ctx context.Context, c *leasehold.Client) error { return a.awaitFree(ctx, c, f) })
		},
	}
	cmd.Flags().Var(&f.kind, "kind", "only this kind")
	cmd.Flags().VarP(&f.wait, "wait", "w", "wait at most so long; 0 looks once (default for ever)")
	return cmd
}

// awaitFree looks until nobody holds the name.
func (a *app) awaitFree(ctx context.Context, c *leasehold.Client, f waitFlags) error {
	end := time.Now().Add(time.Duration(f.wait))
	for seen, away := false, false; ; {
		found, err := look(ctx, c, f.name, f.kind)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil && !seen:
			return err
		case err != nil && !away:
			a.sayAway(plainly(err))
		case err == nil && !held(found):
			return nil
		case err == nil && away:
			a.sayBack()
		}
		if vain := f.vain(found); vain != nil {
			return vain
		}
		seen, away = true, err != nil
		next := untilLook(found)
		if f.limited {
			left := time.Until(end)
			switch {
			case left <= 0 && away:
				return err // whether it is free is not known
			case left <= 0:
				return exit.Errorf(exit.Held, "%q was not free within %s: see leasehold inspect, or wait longer", f.name, time.Duration(f.wait))
			}
			next = min(next, left)
		}
		if err := pause(ctx, next); err != nil {
			return err
		}
	}
}

// vain refuses to wait for what a run around this process holds.
func (f waitFlags) vain(found []leasehold.Status) error {
	o, err := heldAround(func() ([]leasehold.Status, error) { return found, nil }, kinds[f.kind.word], f.name)
	if err == nil && o.pid != 0 {
		err = exit.Errorf(exit.Held, "%q is held by a run around this wait (process %d), which waits for this wait to end, so it would last for ever", f.name, o.pid)
	}
	return err
}

// untilLook is when to look again: when the last lease would run out, within bounds. Most leases are renewed, and end when they
// are released.
func untilLook(found []leasehold.Status) time.Duration {
	var longest time.Duration
	for _, s := range found {
		for _, h := range s.Holders {
			if longest = max(longest, h.TTL); h.TTL < 0 {
				return latest
			}
		}
	}
	return min(max(longest, soonest), latest)
}
