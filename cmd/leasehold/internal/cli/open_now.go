//go:build unix

package cli

import (
	"context"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/leasehold-go/leasehold/cmd/leasehold/internal/engine"
	"github.com/leasehold-go/leasehold/cmd/leasehold/internal/exit"
	"github.com/leasehold-go/leasehold/cmd/leasehold/internal/terminal"
	"github.com/leasehold-go/leasehold/driver"
)

func (a *app) openNow() *cobra.Command {
	yes, why := false, ""
	cmd := &cobra.Command{
		Use:   "open",
		Short: "Let new servers grant locks at once",
		Long: `Let new servers grant locks at once.

A Redis server that nobody has seen in use grants nothing for as long as the longest lease lasts (max_ttl, a minute by default): it may stand in for one on which
locks are held. So does one that was restarted or promoted, and a slot of a Cluster that was moved to another master. This opens all servers of the engine
that can be reached.

Say it only if nothing was ever locked there: for a new server; or if all locks are still there: when slots were moved as a whole between masters whose
clocks agree. Otherwise two may hold one lock. Your name on this machine and the reason are kept on the server.

Exit codes: 0 open; 1 nothing was opened: the answer was no, or this engine closes nothing; 64, 69 as for all commands: 69 also if only some servers could be
opened.`,
		Example:           `  leasehold open --why 'three new servers'`,
		Args:              words(0, "leasehold open [flags]"),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if !yes && !terminal.IsTerminal(a.in) {
				return exit.Errorf(exit.Usage, "open asks before it acts, and standard input is no terminal: say --yes")
			}
			s, err := a.openBy(engine.Open)
			if err != nil {
				return err
			}
			defer s.close()
			ctx, caught := interruptible(cmd.Context())
			err = a.opens(ctx, s.engine, yes, why)
			if sig := caught(); sig != 0 && err != nil {
				return exit.Silent(exit.Signal(int(sig)))
			}
			return failure(err)
		},
	}
	flags := cmd.Flags()
	flags.BoolVarP(&yes, "yes", "y", false, "do not ask")
	flags.StringVar(&why, "why", "", "what for: `TEXT` for the record")
	return cmd
}

// opens asks, and opens the servers.
func (a *app) opens(ctx context.Context, e driver.Engine, yes bool, why string) error {
	o, can := e.(driver.Opener)
	if !can {
		return exit.Errorf(exit.No, "nothing was opened: this engine closes nothing that could be opened by hand")
	}
	if !yes && !a.agreed(ctx, "Was nothing ever locked on these servers, or is nothing missing?") {
		return exit.Errorf(exit.No, "nothing was opened")
	}
	by := caller(os.Getenv, os.Getuid())
	if why != "" {
		by += ": " + why
	}
	opened, err := o.OpenNow(ctx, by)
	for _, name := range opened {
		if _, err := fmt.Fprintln(a.out, "open:", oneLine(name)); err != nil {
			return err
		}
	}
	if err == nil && len(opened) == 0 {
		return exit.Errorf(exit.No, "nothing was opened: with guard=off nothing is closed")
	}
	return err
}
