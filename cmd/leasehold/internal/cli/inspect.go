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
	"github.com/leasehold-go/leasehold/admin"
	"github.com/leasehold-go/leasehold/cmd/leasehold/internal/exit"
	"github.com/leasehold-go/leasehold/driver"
)

func (a *app) inspect() *cobra.Command {
	kind, output := newKind(), newOutput()
	cmd := &cobra.Command{
		Use:   "inspect [flags] NAME",
		Short: "Show who holds a name and who waits for it",
		Long: `Show who holds a name and who waits for it.

On an engine of several nodes (redlock://), it also shows what each node says: who holds the name there, or
that it is free; for how much longer the node is in quarantine, which means that it grants nothing because it
was restarted and may have forgotten leases; that it does not answer; or its error.`,
		Example: `  leasehold inspect deploy:shop
  leasehold inspect --kind lock -o json deploy:shop | jq .free`,
		Args:              exactArgs(1),
		ValidArgsFunction: a.completeNames,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.withAdmin(cmd, func(ctx context.Context, c *admin.Client) error {
				var said []admin.Vote
				var err error
				var asked sync.WaitGroup
				// Both take their time if a node is silent, so they run at the same time.
				asked.Go(func() { said, err = votes(ctx, c, args[0], kind) })
				found, failed := inspectName(ctx, c, args[0], kind)
				asked.Wait()
				switch {
				case failed != nil && len(said) == 0:
					return failed
				case err != nil:
				case output.value == "json":
					err = a.printJSON(newInspection(args[0], found, failed == nil, said))
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
		Use:   "check [flags] NAME",
		Short: "Exit with 0 if a name is free and with 1 if it is held",
		Long: `Exit with 0 if a name is free. Exit with 1 if anybody holds it, in whatever way, or if it is a latch
whose count is not zero yet.

The answer may be out of date when it arrives: to do something only if nobody else does, use leasehold run -n.

Exit codes: 0 free; 1 held; 64, 69 as for all commands: 69 if it is not known.`,
		Example:           `  leasehold check deploy:shop || leasehold inspect deploy:shop`,
		Args:              exactArgs(1),
		ValidArgsFunction: a.completeNames,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.withAdmin(cmd, func(ctx context.Context, c *admin.Client) error {
				found, err := inspectName(ctx, c, args[0], kind)
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

// held reports whether somebody holds any of the entries. A latch that is set counts as held until its count is zero.
func held(found []admin.Status) bool {
	return slices.ContainsFunc(found, func(s admin.Status) bool {
		return len(s.Holders) > 0 || s.Latch != nil && s.Latch.Count > 0
	})
}

// inspectName returns the entries of one name that are held or waited for.
func inspectName(ctx context.Context, c *admin.Client, name string, kind choice) ([]admin.Status, error) {
	all, err := c.Inspect(ctx, name)
	return slices.DeleteFunc(all, func(s admin.Status) bool {
		return kind.value != "" && s.Kind != kinds[kind.value]
	}), err
}

// votes returns what each node says of a lock, or nil if the engine has only one.
func votes(ctx context.Context, c *admin.Client, name string, kind choice) ([]admin.Vote, error) {
	if kind.value != "" && kinds[kind.value] != driver.Lock {
		return nil, nil // engines with several nodes keep locks only
	}
	said, err := c.Votes(ctx, driver.Lock, name)
	if errors.Is(err, leasehold.ErrUnsupported) {
		return nil, nil
	}
	return said, err
}
