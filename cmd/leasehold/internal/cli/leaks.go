//go:build unix

package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/leasehold-go/leasehold"
	"github.com/leasehold-go/leasehold/admin"
	"github.com/leasehold-go/leasehold/cmd/leasehold/internal/exit"
	"github.com/leasehold-go/leasehold/cmd/leasehold/internal/quote"
	"github.com/leasehold-go/leasehold/cmd/leasehold/internal/terminal"
)

// leakFlags are the flags of leaks.
type leakFlags struct {
	prefix   string
	kind     choice
	fix, yes bool
	json     bool
}

func (a *app) leaks() *cobra.Command {
	f, output := leakFlags{kind: newKind()}, newOutput()
	cmd := &cobra.Command{
		Use:   "leaks [flags]",
		Short: "Find what was left behind on the engine, and remove it",
		Long: `Find what was left behind on the engine and does not go away by itself, and with --fix remove it:

  endless lease   a lock that never expires, set by another program: nobody else ever gets it
  endless token   the last token of a name that is kept for longer than the engine keeps tokens
  dead waiters    places in a queue whose waiters are gone
  remains         what was stored along with a lease, or a latch, that has ended

Nothing is changed without --fix. --fix shows what there is, asks, and removes only what is still as it was
shown. Look before you remove an endless lease: the program that has set it may be at work.

Exit codes: 0 nothing was left behind, or all of it is gone; 1 something is there; 64, 69 as for all commands.
An engine that does not look for leaks says so, and the exit code is 0.`,
		Example: `  leasehold leaks
  leasehold leaks --prefix order: --fix`,
		Args:              exactArgs(0),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, _ []string) error {
			f.json = output.value == "json"
			switch {
			case f.yes && !f.fix:
				return exit.Errorf(exit.Usage, "--yes answers what --fix asks: say --fix, too")
			case f.fix && !f.yes && !terminal.IsTerminal(a.in):
				return exit.Errorf(exit.Usage,
					"leaks --fix asks before it acts, and standard input is no terminal: say --yes")
			}
			return a.withAdmin(cmd, func(ctx context.Context, c *admin.Client) error {
				return a.findLeaks(ctx, c, f)
			})
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&f.prefix, "prefix", "", "only names that begin with `TEXT`")
	flags.Var(&f.kind, "kind", "only this kind")
	flags.BoolVar(&f.fix, "fix", false, "remove them, after asking")
	flags.BoolVarP(&f.yes, "yes", "y", false, "do not ask")
	output.register(cmd)
	return cmd
}

// findLeaks prints or removes what was left behind. If the search fails, it first prints what was found so far: only
// one server may be unavailable.
func (a *app) findLeaks(ctx context.Context, c *admin.Client, f leakFlags) error {
	found, failed := a.collectLeaks(ctx, c, f)
	switch {
	case errors.Is(failed, leasehold.ErrUnsupported):
		a.say("this engine does not look for leaks")
		if f.json {
			return a.printJSON(newLeaks(nil))
		}
		return nil
	case failed != nil && (len(found) == 0 || ctx.Err() != nil):
		return failed
	case len(found) > 0 && f.fix:
		return cmp.Or(a.fixLeaks(ctx, c, found, f), failed)
	}
	if err := cmp.Or(a.printLeaks(found, f.json), failed); err != nil || len(found) == 0 {
		return err
	}
	return exit.Silent(exit.No)
}

// collectLeaks returns the leaks found so far even if the search fails.
func (a *app) collectLeaks(ctx context.Context, c *admin.Client, f leakFlags) (found []admin.Leak, err error) {
	progress := a.progress()
	defer progress.end()
	q := admin.Query{Kind: kinds[f.kind.value], Prefix: f.prefix, Progress: progress.show}
	for l, err := range c.Leaks(ctx, q) {
		if err != nil {
			return found, err
		}
		found = append(found, l)
	}
	return found, nil
}

func (a *app) printLeaks(found []admin.Leak, json bool) error {
	switch {
	case json:
		return a.printJSON(newLeaks(found))
	case len(found) == 0:
		_, err := fmt.Fprintln(a.out, "nothing was left behind")
		return err
	}
	table := columns{out: a.out}
	table.addRow("LEAK", "KIND", "NAME", "COUNT", "TOKEN", "SERVER", "HOLDER")
	for _, l := range found {
		table.addRow(l.Sort.String(), l.Kind.String(), quote.Name(l.Name), strconv.Itoa(l.Count), tokenOf(l),
			quote.Cell(l.Server), quote.Cell(l.Holder))
	}
	return table.flush()
}

func tokenOf(l admin.Leak) string {
	if l.Token == 0 {
		return "-"
	}
	return strconv.FormatUint(l.Token, 10)
}
