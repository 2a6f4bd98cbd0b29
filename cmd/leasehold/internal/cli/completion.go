//go:build unix

package cli

import (
	"context"
	"os"
	"slices"

	"github.com/leasehold-go/leasehold/admin"
	"github.com/spf13/cobra"
)

// muteCompletion discards what cobra writes about its own completion of words: it would quote words in which there may
// be a password, on standard error and in the file that this variable names.
func muteCompletion() {
	_ = os.Unsetenv("BASH_COMP_DEBUG_FILE")
	os.Stderr, _ = os.OpenFile(os.DevNull, os.O_WRONLY, 0) // if that fails, writing to it fails, too
}

// completeNames completes NAME with the names that are held or waited for.
func (a *app) completeNames(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var found []string
	err := a.withAdmin(cmd, func(ctx context.Context, c *admin.Client) error {
		page, err := c.List(ctx, admin.Query{Prefix: typed})
		for _, s := range page {
			// To a shell, a newline ends a completion and a tab begins its description; and it shows the text on the
			// terminal.
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
