//go:build unix

package cli

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/leasehold-go/leasehold/cmd/leasehold/internal/engine"
	"github.com/leasehold-go/leasehold/cmd/leasehold/internal/exit"
	"github.com/leasehold-go/leasehold/cmd/leasehold/internal/quote"
	"github.com/leasehold-go/leasehold/cmd/leasehold/internal/terminal"
	"github.com/leasehold-go/leasehold/driver"
)

func (a *app) openNow() *cobra.Command {
	yes, change, why := false, false, ""
	cmd := &cobra.Command{
		Use:   "open [flags]",
		Short: "Let new servers grant locks at once",
		Long: `Let new servers grant locks at once.

A Redis server that has no record of earlier use grants nothing for as long as the longest lease lasts (max_ttl,
a minute by default): it is new, or lost its data, or stands in for one on which locks are held. The same holds
for a server that was restarted or promoted, and for a slot of a Cluster that was moved to another master. This
opens all servers of the engine that can be reached.

Use it only if nothing can be locked, as before the first program uses a new server, or if all locks are still
there, as when slots were moved as a whole between masters whose clocks agree. Otherwise two may hold one lock.
Your name on this machine and the reason are kept on the server.

With --change-nodes it tells a majority of servers (redlock) that the list of servers in the URL is the one that
counts from now on. Programs with another list that has some of them are granted nothing any more, and their
leases end. The servers grant again when these leases are over, after max_ttl. All servers must answer, and of
the earlier list more than half, or so many that the others are no majority of it.

Exit codes: 0 open, or the list is changed; 1 nothing was done: the answer was no, or this engine closes
nothing; 64, 69 as for all commands: 69 also if only some servers could be opened.`,
		Example: `  leasehold open --why 'three new servers'
  leasehold --engine redlock://a,b,new open --change-nodes`,
		Args:              exactArgs(0),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if !yes && !terminal.IsTerminal(a.in) {
				return exit.Errorf(exit.Usage, "open asks before it acts, and standard input is no terminal: say --yes")
			}
			open := engine.Open
			act := func(ctx context.Context, e driver.Engine) error { return a.openServers(ctx, e, yes, why) }
			if change {
				open = engine.OpenToExamine // Open refuses servers of different lists
				act = func(ctx context.Context, e driver.Engine) error { return a.changeNodes(ctx, e, yes) }
			}
			return a.withSessionBy(cmd, open, func(ctx context.Context, s *session) error { return act(ctx, s.engine) })
		},
	}
	flags := cmd.Flags()
	flags.BoolVarP(&yes, "yes", "y", false, "do not ask")
	flags.StringVar(&why, "why", "", "what for: `TEXT` for the record")
	flags.BoolVar(&change, "change-nodes", false, "make the servers of the URL the list that counts")
	return cmd
}

// opener is an engine that grants nothing for a while where running leases may be missing.
type opener interface {
	OpenNow(ctx context.Context, by string) (opened []string, err error)
}

// nodeChanger is an engine that keeps each lock on a majority of several servers, and notices programs that use another
// list of servers.
type nodeChanger interface {
	ChangeNodes(ctx context.Context) (opens time.Time, err error)
}

// changeNodes asks for confirmation, and makes the servers of the URL the current list.
func (a *app) changeNodes(ctx context.Context, e driver.Engine, yes bool) error {
	c, can := e.(nodeChanger)
	if !can {
		return exit.Errorf(exit.No, "nothing was changed: this engine does not keep locks on a list of servers")
	}
	const question = "Programs with another list of servers lose their locks. Is this the list for all from now on?"
	if !yes && !a.confirm(ctx, question) {
		return exit.Errorf(exit.No, "nothing was changed")
	}
	opens, err := c.ChangeNodes(ctx)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(a.out, "changed: locks are granted again at", formatMoment(opens))
	return err
}

// openServers asks for confirmation, and opens the servers.
func (a *app) openServers(ctx context.Context, e driver.Engine, yes bool, why string) error {
	o, can := e.(opener)
	if !can {
		return exit.Errorf(exit.No, "nothing was opened: this engine closes nothing that could be opened by hand")
	}
	if !yes && !a.confirm(ctx, "Is it certain that no lock is missing on these servers?") {
		return exit.Errorf(exit.No, "nothing was opened")
	}
	by := caller(os.Getenv, os.Getuid())
	if why != "" {
		by += ": " + why
	}
	opened, err := o.OpenNow(ctx, by)
	for _, name := range opened {
		if _, err := fmt.Fprintln(a.out, "open:", quote.Name(name)); err != nil {
			return err
		}
	}
	if err == nil && len(opened) == 0 {
		return exit.Errorf(exit.No, "nothing was opened: with guard=off nothing is closed")
	}
	return err
}
