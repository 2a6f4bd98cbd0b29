//go:build unix

package cli

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/leasehold-go/leasehold/admin"
	"github.com/leasehold-go/leasehold/cmd/leasehold/internal/exit"
	"github.com/leasehold-go/leasehold/driver"
)

// kinds are the values of --kind.
var kinds = map[string]driver.Kind{
	"lock":      driver.Lock,
	"semaphore": driver.Semaphore,
	"latch":     driver.Latch,
}

func newKind() choice { return choice{allowed: []string{"lock", "semaphore", "latch"}} }

// listFlags are the flags of ls.
type listFlags struct {
	filter
	after position
	limit int // 0: no limit
	form  string
}

func (a *app) list() *cobra.Command {
	f, output := listFlags{filter: filter{kind: newKind()}}, newOutput("jsonl")
	cmd := &cobra.Command{
		Use:   "ls [flags]",
		Short: "List what is held and waited for",
		Long: `List what is held and waited for, ordered by kind and then by name: a line for each holder.

The listing is printed as it arrives. It does not show one moment: what comes or goes meanwhile may be in it or
not. With --limit, a message says how to go on after the last name. -o json is one array, printed at the end;
-o jsonl is one object a line, printed as they arrive.`,
		Example: `  leasehold ls --match 'order:*' --waited
  leasehold ls --holder build-7 -o json | jq -r '.[].name'
  leasehold ls --limit 100 --after lock/order:1001`,
		Args:              exactArgs(0),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if cmd.Flags().Changed("limit") && f.limit < 1 {
				return exit.Errorf(exit.Usage, "--limit %d is not allowed: it must be at least 1", f.limit)
			}
			f.form = output.value
			return a.withAdmin(cmd, func(ctx context.Context, c *admin.Client) error {
				return a.printListing(ctx, c, f)
			})
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&f.prefix, "prefix", "", "only names that begin with `TEXT`")
	flags.Var(&f.match, "match",
		"only names like this, in which * stands for any text, ? for a letter, and [a-z] for one of several")
	flags.Var(&f.kind, "kind", "only this kind")
	flags.StringVar(&f.holder, "holder", "",
		"only names with a holder whose text (host:pid program label) contains `TEXT`")
	flags.BoolVar(&f.waited, "waited", false, "only names that somebody waits for")
	flags.IntVar(&f.limit, "limit", 0, "at most `N` names (default all)")
	flags.Var(&f.after, "after", "only what comes after this name in the listing")
	output.register(cmd)
	return cmd
}

// printListing prints the entries that the flags select.
func (a *app) printListing(ctx context.Context, c *admin.Client, f listFlags) error {
	progress := a.progress()
	defer progress.end()
	p := a.printer(f.form)
	q := f.query()
	q.After, q.Progress = f.after.key(), progress.show
	var last admin.Status
	shown, more := 0, false
	var pace pace
	for s, err := range c.All(ctx, q) {
		if err != nil {
			if shown > 0 {
				_ = progress.whileHidden(p.flush) // what has been read so far is correct; the error to report is err
			}
			return err
		}
		if f.shows(s) {
			if more = f.limit > 0 && shown == f.limit; more {
				break
			}
			p.add(s)
			shown, last = shown+1, s
		}
		if pace.due() {
			if err := progress.whileHidden(p.flush); err != nil {
				return err
			}
		}
	}
	if err := progress.whileHidden(p.end); err != nil {
		return err
	}
	if more {
		a.say("there is more: go on with --after %s", shellQuote(positionOf(last).String()))
	}
	closed, err := grantsClosed(ctx, c, "", f.kind)
	if closed != nil {
		a.say("locks that the engine has forgotten are missing here: %s", closed)
	}
	return err
}
