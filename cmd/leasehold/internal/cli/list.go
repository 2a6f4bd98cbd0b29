//go:build unix

package cli

import (
	"context"
	"iter"

	"github.com/spf13/cobra"

	"github.com/leasehold-go/leasehold"
)

// kinds are what --kind may say.
var kinds = map[string]leasehold.Kind{
	"lock":      leasehold.KindLock,
	"semaphore": leasehold.KindSemaphore,
	"latch":     leasehold.KindLatch,
}

func newKind() choice { return choice{allowed: []string{"lock", "semaphore", "latch"}} }

func (a *app) list() *cobra.Command {
	var prefix string
	kind, output := newKind(), newOutput()
	cmd := &cobra.Command{
		Use:               "ls",
		Short:             "List what is held and waited for",
		Args:              words(0, "leasehold ls [flags]"),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.asking(cmd, func(ctx context.Context, c *leasehold.Client) error {
				var all []leasehold.Status
				for s, err := range everything(ctx, c, leasehold.Query{Kind: kinds[kind.word], Prefix: prefix}) {
					if err != nil {
						return err
					}
					all = append(all, s)
				}
				if output.word == "json" {
					return a.printJSON(entries(all))
				}
				return a.printTable(all)
			})
		},
	}
	cmd.Flags().StringVar(&prefix, "prefix", "", "only names that begin with `TEXT`")
	cmd.Flags().Var(&kind, "kind", "only this kind")
	output.register(cmd)
	return cmd
}

// everything is the whole listing, page by page.
func everything(ctx context.Context, c *leasehold.Client, q leasehold.Query) iter.Seq2[leasehold.Status, error] {
	return func(yield func(leasehold.Status, error) bool) {
		for {
			page, err := c.List(ctx, q)
			if err != nil {
				yield(leasehold.Status{}, err)
				return
			}
			for _, s := range page {
				if !yield(s, nil) {
					return
				}
			}
			if len(page) == 0 {
				return
			}
			q.After = page[len(page)-1].Key
		}
	}
}
