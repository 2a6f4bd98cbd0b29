//go:build unix

package cli

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"github.com/leasehold-go/leasehold/admin"
	"github.com/leasehold-go/leasehold/cmd/leasehold/internal/exit"
	"github.com/leasehold-go/leasehold/driver"
)

// minWatchInterval limits the load that a watch puts on the engine.
const minWatchInterval = 100 * time.Millisecond

// watchFlags are the flags of watch, and its argument.
type watchFlags struct {
	name     string // empty: all names
	prefix   string
	kind     choice
	interval period
	json     bool
}

func (a *app) watch() *cobra.Command {
	f, output := watchFlags{kind: newKind(), interval: period(time.Second)}, newOutput()
	cmd := &cobra.Command{
		Use:   "watch [flags] [NAME]",
		Short: "Print a line for each change: granted, handed on, released, waiting",
		Long: `Print a line for each change of one name, or of all, until INT or TERM.

It begins with what is held, waited for or set now. Then it polls at intervals, and prints the differences. It
does not see what comes and goes between two polls. A renewal is no change. After a poll that took long, because
there are many names, it waits for as long before the next one.

  held, free   at the first poll
  granted      a new holder
  handed on    from one holder to the next
  released     gone before the lease could expire: by its holder, by force, or forgotten by the engine
  ended        released or expired
  changed      the holder holds it in another way
  waiting      the number of waiters
  latch        the count of a latch; forgotten when it is not set any more
  node         what a node says of NAME, on an engine of several nodes
  closed       grants are closed: nothing is granted to anybody for a while, and leases may be forgotten
  open         grants are open again

While the engine is unavailable it keeps polling: it says so once, and says when the engine is back. The first
poll must succeed. -o json is one object a line.`,
		Example: `  leasehold watch deploy:shop
  leasehold watch --prefix order: --interval 5s -o json`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return nil
			}
			return exactArgs(1)(cmd, args)
		},
		ValidArgsFunction: a.completeNames,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				f.name = args[0]
			}
			switch {
			case len(args) > 0 && f.prefix != "":
				return exit.Errorf(exit.Usage, "NAME %q and --prefix %q contradict each other: say one of them", f.name,
					f.prefix)
			case len(args) > 0 && f.name == "":
				return exit.Errorf(exit.Usage, `NAME "" is not allowed: say a name, or leave it out to watch all`)
			case time.Duration(f.interval) < minWatchInterval:
				return exit.Errorf(exit.Usage, "--interval %s is not allowed: it must be at least %s",
					time.Duration(f.interval), minWatchInterval)
			}
			f.json = output.value == "json"
			return a.withAdmin(cmd, func(ctx context.Context, c *admin.Client) error {
				return a.watchChanges(ctx, c, f)
			})
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&f.prefix, "prefix", "", "only names that begin with `TEXT`")
	flags.Var(&f.kind, "kind", "only this kind")
	flags.Var(&f.interval, "interval", "time between two polls, at least 100ms")
	output.register(cmd)
	return cmd
}

// watchChanges polls, and prints what has changed. It ends with ctx, or if the first poll fails.
func (a *app) watchChanges(ctx context.Context, c *admin.Client, f watchFlags) error {
	var before *snapshot
	var said []admin.Vote
	wasClosed := false
	away := false
	for {
		began := time.Now()
		now, votes, err := f.takeSnapshot(ctx, c)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		changed := nodeChanges(said, votes)
		if len(votes) > 0 {
			said = votes
		}
		switch {
		case err != nil && before == nil:
			return err
		case err != nil && !away:
			away = true
			changed = append([]change{{Event: eventUnavailable, Error: errorText(err)}}, changed...)
		case err == nil:
			if away {
				changed = append(changed, change{Event: eventAvailable})
			}
			if isClosed := now.closed != nil; isClosed != wasClosed {
				changed, wasClosed = append(changed, closedChange(now.closed)), isClosed
			}
			if before == nil && f.name != "" && len(now.names) == 0 && now.closed == nil {
				changed = append(changed, change{Event: eventFree, Kind: f.kind.value, Name: f.name})
			}
			changed = append(changed, changes(before, now)...)
			before, away = &now, false
		}
		if err := a.printChanges(changed, f.json); err != nil {
			return err
		}
		// A slow poll must leave the engine time for other work.
		if err := pause(ctx, max(time.Duration(f.interval), time.Since(began))); err != nil {
			return err
		}
	}
}

// pause waits for d, or until ctx ends.
func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}

// takeSnapshot polls one name and its nodes, or all names.
func (f watchFlags) takeSnapshot(ctx context.Context, c *admin.Client) (now snapshot, _ []admin.Vote, err error) {
	now = snapshot{began: time.Now(), names: map[driver.Key]admin.Status{}}
	if f.name == "" {
		if now.closed, err = grantsClosed(ctx, c, "", f.kind); err != nil {
			return now, nil, err
		}
		for s, err := range c.All(ctx, admin.Query{Kind: kinds[f.kind.value], Prefix: f.prefix}) {
			if err != nil {
				return now, nil, err
			}
			now.names[s.Key] = s
		}
		return now, nil, nil
	}
	o, err := observe(ctx, c, f.name, f.kind)
	now.closed = o.closed
	for _, s := range o.found {
		now.names[s.Key] = s
	}
	return now, o.said, err
}
