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

A name is not free while grants are closed: the engine grants nothing to anybody for a while, because it was
restarted and may have forgotten leases. It says so, and until when.

On an engine of several nodes (redlock://), it also shows what each node says: who holds the name there, or
that it is free; for how much longer its grants are closed; that it does not answer; or its error.`,
		Example: `  leasehold inspect deploy:shop
  leasehold inspect --kind lock -o json deploy:shop | jq .free`,
		Args:              exactArgs(1),
		ValidArgsFunction: a.completeNames,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.withAdmin(cmd, func(ctx context.Context, c *admin.Client) error {
				o, failed := observe(ctx, c, args[0], kind)
				if failed != nil && len(o.found) == 0 && len(o.said) == 0 {
					return failed
				}
				if output.value == "json" {
					return cmp.Or(failed, a.printJSON(newInspection(o)))
				}
				return cmp.Or(failed, a.printDetails(o))
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
whose count is not zero yet. While grants are closed, since the engine was restarted and may have forgotten
leases, it is not known whether anybody holds it.

The answer may be out of date when it arrives: to do something only if nobody else does, use leasehold run -n.

Exit codes: 0 free; 1 held; 64, 69 as for all commands: 69 if it is not known.`,
		Example:           `  leasehold check deploy:shop || leasehold inspect deploy:shop`,
		Args:              exactArgs(1),
		ValidArgsFunction: a.completeNames,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.withAdmin(cmd, func(ctx context.Context, c *admin.Client) error {
				found, err := inspectName(ctx, c, args[0], kind)
				switch {
				case err != nil:
					return err
				case held(found):
					return exit.Silent(exit.No)
				}
				if closed, err := grantsClosed(ctx, c, args[0], kind); err != nil || closed == nil {
					return err
				} else {
					return exit.Errorf(exit.Unavailable, "%q is not free: %w", args[0], closed)
				}
			})
		},
	}
	cmd.Flags().Var(&kind, "kind", "only this kind")
	return cmd
}

// observation is what is known of one name.
type observation struct {
	name   string
	found  []admin.Status
	known  bool // found and closed are; otherwise only said is
	said   []admin.Vote
	closed *leasehold.GrantsClosedError
}

// observe asks for everything about one name. It sends all requests at the same time, since each takes its time if a
// node is silent.
func observe(ctx context.Context, c *admin.Client, name string, kind choice) (o observation, failed error) {
	var closedErr, votesErr error
	var asked sync.WaitGroup
	asked.Go(func() { o.said, votesErr = votes(ctx, c, name, kind) })
	asked.Go(func() { o.closed, closedErr = grantsClosed(ctx, c, name, kind) })
	found, listErr := inspectName(ctx, c, name, kind)
	asked.Wait()
	o.name, o.found, o.known = name, found, listErr == nil && closedErr == nil
	return o, cmp.Or(listErr, closedErr, votesErr)
}

// grantsClosed says why nothing is granted, or is nil if leases are granted. Latches are always granted.
func grantsClosed(
	ctx context.Context, c *admin.Client, name string, kind choice,
) (*leasehold.GrantsClosedError, error) {
	switch kinds[kind.value] {
	case driver.Latch:
		return nil, nil
	case driver.Semaphore:
		return c.GrantsClosed(ctx, driver.Semaphore, name)
	}
	return c.GrantsClosed(ctx, driver.Lock, name)
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
