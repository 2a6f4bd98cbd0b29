//go:build unix

package cli

import (
	"context"
	"slices"

	"github.com/spf13/cobra"

	"github.com/leasehold-go/leasehold"
)

// names completes NAME with what is held or waited for.
func (a *app) names(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var found []string
	err := a.asking(cmd, func(ctx context.Context, c *leasehold.Client) error {
		page, err := c.List(ctx, leasehold.Query{Prefix: typed})
		for _, s := range page {
			// Shells end a completion at the end of a line, describe it behind a tab, and show it on the terminal.
			if oneLine(s.Name) == s.Name {
				found = append(found, s.Name)
			}
		}
		return err
	})
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	slices.Sort(found) // one name may be of several kinds
	return slices.Compact(found), cobra.ShellCompDirectiveNoFileComp
}
