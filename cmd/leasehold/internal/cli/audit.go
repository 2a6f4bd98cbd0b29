//go:build unix

package cli

import (
	"context"
	"errors"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/leasehold-go/leasehold"
	"github.com/leasehold-go/leasehold/admin"
	"github.com/leasehold-go/leasehold/cmd/leasehold/internal/exit"
	"github.com/leasehold-go/leasehold/cmd/leasehold/internal/quote"
)

// removal is the JSON form of a removal. Its field names are part of the interface.
type removal struct {
	At      string `json:"at"`
	Kind    string `json:"kind"`
	Name    string `json:"name"`
	Token   uint64 `json:"token"`
	Holder  string `json:"holder"`
	By      string `json:"by"`
	Why     string `json:"why"`
	Outcome string `json:"outcome"`
	ID      string `json:"id"`
}

func (a *app) audit() *cobra.Command {
	var limit int
	output := newOutput()
	cmd := &cobra.Command{
		Use:   "audit [flags]",
		Short: "List the locks that were taken away by force",
		Long: `List the locks that were taken away by force, with leasehold release --force or by programs, the newest
first. The engine keeps the latest 1000.

Outcomes: removed; gone (the holder no longer had the lock, and nothing was changed); refused (nothing was
changed, for another reason); asked (the removal was about to be done, and whether it was is not known).

Time and user are what the machine said on which it was done. An engine that keeps no record says so, and the
exit code is 64.`,
		Example:           `  leasehold audit --limit 10`,
		Args:              exactArgs(0),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if cmd.Flags().Changed("limit") && limit < 1 {
				return exit.Errorf(exit.Usage, "--limit %d is not allowed: it must be at least 1", limit)
			}
			return a.withAdmin(cmd, func(ctx context.Context, c *admin.Client) error {
				all, err := c.Removals(ctx, limit)
				switch {
				case errors.Is(err, leasehold.ErrUnsupported):
					return exit.Errorf(exit.Usage, "this engine keeps no record of forced releases")
				case err != nil:
					return err
				case output.value == "json":
					return a.printJSON(removals(all))
				}
				return a.printRemovals(all)
			})
		},
	}
	cmd.Flags().IntVar(&limit, "limit", 0, "the latest `N` (default all)")
	output.register(cmd)
	return cmd
}

func removals(all []admin.Removal) []removal {
	list := make([]removal, 0, len(all)) // [], not null
	for _, r := range all {
		list = append(list, removal{
			At: jsonMoment(r.At), Kind: r.Kind.String(), Name: r.Name, Token: r.Token,
			Holder: r.Holder, By: r.By, Why: r.Why, Outcome: r.Outcome.String(), ID: r.ID,
		})
	}
	return list
}

func (a *app) printRemovals(all []admin.Removal) error {
	table := columns{out: a.out}
	table.addRow("WHEN", "KIND", "NAME", "TOKEN", "OUTCOME", "BY", "HOLDER", "WHY")
	for _, r := range all {
		table.addRow(formatMoment(r.At), r.Kind.String(), quote.Name(r.Name),
			strconv.FormatUint(r.Token, 10), r.Outcome.String(), quote.Text(r.By), quote.Cell(r.Holder),
			quote.Cell(r.Why))
	}
	return table.flush()
}

// orDash returns the text, or a dash if it is empty.
func orDash(text string) string {
	if text == "" {
		return "-"
	}
	return text
}
