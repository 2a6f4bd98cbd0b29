//go:build unix

package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/leasehold-go/leasehold"
	"github.com/leasehold-go/leasehold/admin"
	"github.com/leasehold-go/leasehold/cmd/leasehold/internal/exit"
	"github.com/leasehold-go/leasehold/cmd/leasehold/internal/quote"
	"github.com/leasehold-go/leasehold/cmd/leasehold/internal/terminal"
	"github.com/leasehold-go/leasehold/driver"
)

// releaseFlags are the flags of release.
type releaseFlags struct {
	force, yes bool
	token      uint64
	tokenGiven bool // --token was given
	kind       choice
	why        string
}

func (a *app) releaseByForce() *cobra.Command {
	f := releaseFlags{kind: choice{allowed: []string{"lock", "semaphore"}}}
	cmd := &cobra.Command{
		Use:   "release --force [flags] NAME",
		Short: "Take a lock away from whoever holds it",
		Long: `Take a lock away from whoever holds it.

The holder notices at its next renewal, at most a third of its ttl later. Until then it works on, while others
may have the lock: only the fencing token tells the two apart. Without --token, all current holders of the name
lose it. A holder that comes while you are asked keeps it.

The engine keeps a record, if it can: when, from whom, by whom (your name on this machine, or that of the caller
of sudo) and why. See leasehold audit.

Exit codes: 0 released; 1 nothing was released: the name is free, nobody holds it with that token (any more), or
the answer was no; 64, 69 as for all commands.`,
		Example:           `  leasehold release --force --why 'build-7 hangs, see ticket 4711' deploy:shop`,
		Args:              exactArgs(1),
		ValidArgsFunction: a.completeNames,
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case !f.force:
				return exit.Errorf(exit.Usage,
					"release takes the lock %q away from its holder, who may be at work: say --force if you mean it",
					args[0])
			case !f.yes && !terminal.IsTerminal(a.in):
				return exit.Errorf(exit.Usage,
					"release asks before it acts, and standard input is no terminal: say --yes")
			}
			f.tokenGiven = cmd.Flags().Changed("token")
			return a.withAdmin(cmd, func(ctx context.Context, c *admin.Client) error {
				return a.removeHolders(ctx, c, args[0], f)
			})
		},
	}
	flags := cmd.Flags()
	flags.BoolVar(&f.force, "force", false, "required: the holder is not asked")
	flags.BoolVarP(&f.yes, "yes", "y", false, "do not ask")
	flags.Uint64Var(&f.token, "token", 0, "only the holder with token `N`")
	flags.Var(&f.kind, "kind", "only this kind")
	flags.StringVar(&f.why, "why", "", "what for: `TEXT` for the record")
	return cmd
}

// target is a hold to be released by force.
type target struct {
	kind driver.Kind
	admin.Holder
}

// removeHolders shows the holders, asks, and releases the lock by force.
func (a *app) removeHolders(ctx context.Context, c *admin.Client, name string, f releaseFlags) error {
	found, err := inspectName(ctx, c, name, f.kind)
	if err != nil {
		return err
	}
	var targets []target
	for _, s := range found {
		for _, h := range s.Holders {
			if f.tokenGiven && h.Token != f.token {
				continue
			}
			rest := "without an end"
			if h.TTL >= 0 {
				rest = formatAge(h.TTL) + " left"
			}
			a.say("%s %q is held by %s, token %d, %s", s.Kind, name, h.Holder, h.Token, rest)
			targets = append(targets, target{s.Kind, h})
		}
	}
	switch {
	case len(targets) == 0 && f.tokenGiven:
		return exit.Errorf(exit.No, "nothing to release: nobody holds %q with token %d", name, f.token)
	case len(targets) == 0:
		return exit.Errorf(exit.No, "nothing to release: %q is free", name)
	}
	if _, err := c.Removals(ctx, 1); errors.Is(err, leasehold.ErrUnsupported) {
		a.say("this engine keeps no record of forced releases: note it down elsewhere, if it matters")
	}
	whom := "this holder"
	if len(targets) > 1 {
		whom = fmt.Sprintf("these %d holders", len(targets))
	}
	if !f.yes && !a.confirm(ctx, "Take it away from "+whom+"?") {
		return exit.Errorf(exit.No, "nothing was released")
	}
	released, unwritten := 0, error(nil)
	for _, t := range targets {
		switch err := c.ForceRelease(ctx, t.kind, name, t.Token, f.removalOptions(t)...); {
		case errors.Is(err, leasehold.ErrLost):
			a.say("token %d does not hold %q any more: it was released, or has changed hands, since it was shown",
				t.Token, name)
		case err != nil:
			return err
		default:
			released++
			_, err := fmt.Fprintf(a.out, "released %s %s token %d\n", t.kind, quote.Name(name), t.Token)
			unwritten = cmp.Or(unwritten, err) // the others are released all the same
		}
	}
	if released == 0 {
		return exit.Errorf(exit.No, "nothing was released: see leasehold inspect for who holds %q now", name)
	}
	return unwritten
}

// removalOptions returns what the record of the removal says.
func (f releaseFlags) removalOptions(t target) []admin.RemovalOption {
	said := []admin.RemovalOption{admin.WithOperator(caller(os.Getenv, os.Getuid())), admin.WithReason(f.why)}
	if t.Holder.Holder != "" {
		said = append(said, admin.WithHolderText(t.Holder.Holder))
	}
	return said
}
