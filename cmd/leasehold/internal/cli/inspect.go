//go:build unix

package cli

import (
	"context"
	"slices"

	"github.com/spf13/cobra"

	"github.com/leasehold-go/leasehold"
	"github.com/leasehold-go/leasehold/cmd/leasehold/internal/exit"
)

func (a *app) inspect() *cobra.Command {
	kind, output := newKind(), newOutput()
	cmd := &cobra.Command{
		Use:               "inspect NAME",
		Short:             "Show who holds a name and who waits for it",
		Args:              words(1, "leasehold inspect [flags] NAME"),
		ValidArgsFunction: a.names,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.asking(cmd, func(ctx context.Context, c *leasehold.Client) error {
				found, err := look(ctx, c, args[0], kind)
				switch {
				case err != nil:
					return err
				case output.word == "json":
					return a.printJSON(inspection{Name: args[0], Free: !held(found), Entries: entries(found)})
				}
				return a.printDetails(args[0], found)
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
		Use:               "check NAME",
		Short:             "Exit with 0 if a name is free and with 1 if it is held",
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
