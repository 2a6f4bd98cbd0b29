//go:build unix

package cli

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/spf13/cobra"

	"github.com/leasehold-go/leasehold"
	"github.com/leasehold-go/leasehold/cmd/leasehold/internal/exit"
)

func (a *app) inspect() *cobra.Command {
	kind, output := newKind(), newOutput()
	cmd := &cobra.Command{
		Use:   "inspect NAME",
		Short: "Show who holds a name and who waits for it",
		Long: `Show who holds a name and who waits for it.

On an engine of several nodes (redlock://), it also shows what each node says: who holds the name
there, or that it is free; for how much longer the node is in quarantine, which means that it grants nothing
as it was restarted and may have forgotten leases; that it does not answer; or its error.`,
		Args:              words(1, "leasehold inspect [flags] NAME"),
		ValidArgsFunction: a.names,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.asking(cmd, func(ctx context.Context, c *leasehold.Client) error {
				var said []leasehold.Vote
				var err error
				var asked sync.WaitGroup
				asked.Go(func() { said, err = votes(ctx, c, args[0], kind) }) // a node that is silent takes its time: let it be the same
				found, failed := look(ctx, c, args[0], kind)
				asked.Wait()
				switch {
				case failed != nil && len(said) == 0:
					return failed
				case err != nil:
				case output.word == "json":
					err = a.printJSON(inspect(args[0], found, failed == nil, said))
				default:
					err = a.printDetails(args[0], found, failed == nil, said)
				}
				return cmp.Or(failed, err)
			})
		},
	}
	cmd.Flags().Var(&kind, "kind", "only this kind")
	output.register(cmd)
	return cmd
}

func (a *app) check() *cobra.Command {
	kind := newKind()
	cmd := &cobra.Command{
		Use:   "check NAME",
		Short: "Exit with 0 if a name is free and with 1 if it is held",
		Long: `Exit with 0 if a name is free and with 1 if anybody holds it, in whatever way, or if it is a latch that has not come down to zero.

The answer may be out of date when it arrives: to do something only if nobody else does, use leasehold run -n.

Exit codes: 0 free; 1 held; 64, 69 as for all commands: 69 if it is not known.`,
		Example:           `  leasehold check deploy:shop || leasehold inspect deploy:shop`,
		Args:              words(1, "leasehold check [flags] NAME"),
		ValidArgsFunction: a.names,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.asking(cmd, func(ctx context.Context, c *leasehold.Client) error {
				found, err := look(ctx, c, args[0], kind)
				if err == nil && held(found) {
					return exit.Silent(exit.No)
				}
				return err
			})
		},
	}
	cmd.Flags().Var(&kind, "kind", "only this kind")
	return cmd
}

// held reports whether anybody holds any of it. A latch that is set and has not come down to zero
// counts as held.
func held(found []leasehold.Status) bool {
	return slices.ContainsFunc(found, func(s leasehold.Status) bool {
		return len(s.Holders) > 0 || s.Latch != nil && s.Latch.Count > 0
	})
}

// look returns what is known of one name: entries that somebody holds or waits for.
func look(ctx context.Context, c *leasehold.Client, name string, kind choice) ([]leasehold.Status, error) {
	all, err := c.Inspect(ctx, name)
	return slices.DeleteFunc(all, func(s leasehold.Status) bool {
		return kind.word != "" && s.Kind != kinds[kind.word]
	}), err
}

// votes returns what each node says of a lock, if the engine has several.
func votes(ctx context.Context, c *leasehold.Client, name string, kind choice) ([]leasehold.Vote, error) {
	if kind.word != "" && kinds[kind.word] != leasehold.KindLock {
		return nil, nil // a majority keeps locks alone
	}
	said, err := c.Votes(ctx, leasehold.KindLock, name)
	if errors.Is(err, leasehold.ErrUnsupported) {
		return nil, nil
	}
	return said, err
}
