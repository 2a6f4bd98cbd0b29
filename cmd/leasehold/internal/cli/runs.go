//go:build unix

package cli

import (
	"context"
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/leasehold-go/leasehold"
	"github.com/leasehold-go/leasehold/cmd/leasehold/internal/engine"
	"github.com/leasehold-go/leasehold/cmd/leasehold/internal/exit"
	"github.com/leasehold-go/leasehold/cmd/leasehold/internal/quote"
	"github.com/leasehold-go/leasehold/cmd/leasehold/internal/terminal"
	"github.com/leasehold-go/leasehold/once"
)

// runs is the JSON form of what a job remembers. Its field names are part of the interface.
type runs struct {
	Name string    `json:"name"`
	Done *string   `json:"done"` // null if no tick is done
	Runs []tickRun `json:"runs"`
}

type tickRun struct {
	Tick  string `json:"tick"`
	Token uint64 `json:"token"`
	Began string `json:"began"`
	Took  int64  `json:"took_ms"`
	By    string `json:"by"`
	Error string `json:"error"`
}

func (a *app) runs() *cobra.Command {
	var forget, yes bool
	output := newOutput()
	cmd := &cobra.Command{
		Use:   "runs [flags] NAME",
		Short: "Show the runs of a job that runs once per tick",
		Long: `Show the runs of a job that runs once per tick, as leasehold run does with --every, --schedule or
--once: the latest tick that is done, and the latest 20 runs, the newest first. Times are those of the machine
that ran it.

With --forget the job forgets them, so that each tick may run again. That waits for a run that goes on.`,
		Example: `  leasehold runs nightly
  leasehold runs --forget --yes migrations`,
		Args:              exactArgs(1),
		ValidArgsFunction: a.completeNames,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := checkName(args[0]); err != nil {
				return err
			}
			if forget && !yes && !terminal.IsTerminal(a.in) {
				return exit.Errorf(exit.Usage,
					"--forget asks before it acts, and standard input is no terminal: say --yes")
			}
			return a.withSessionBy(cmd, engine.Open, func(ctx context.Context, s *session) error {
				if err := checkKeepsData(s.engine, a.abilities); err != nil {
					return err
				}
				s.client = leasehold.New(s.engine, leasehold.WithRequestTimeout(RequestTimeout))
				return a.showRuns(ctx, once.New(s.client, args[0]), forget, yes, output.value)
			})
		},
	}
	cmd.Flags().BoolVar(&forget, "forget", false, "make the job forget all ticks and runs")
	cmd.Flags().BoolVarP(&yes, "yes", "y", false, "do not ask")
	output.register(cmd)
	return cmd
}

func (a *app) showRuns(ctx context.Context, j *once.Job, forget, yes bool, output string) error {
	if forget {
		if !yes && !a.confirm(ctx, "Forget which ticks of "+strconv.Quote(j.Name())+" are done? Each may run again.") {
			return exit.Errorf(exit.No, "nothing was forgotten")
		}
		return j.Forget(ctx)
	}
	s, err := j.State(ctx)
	switch {
	case err != nil:
		return err
	case output == "json":
		return a.printJSON(jsonRuns(j.Name(), s))
	}
	return a.printRuns(s)
}

func jsonRuns(name string, s once.State) runs {
	r := runs{Name: name, Runs: make([]tickRun, 0, len(s.Runs))} // [], not null
	if !s.Done.IsZero() {
		done := s.Done.String()
		r.Done = &done
	}
	for _, one := range s.Runs {
		r.Runs = append(r.Runs, tickRun{
			Tick: one.Tick.String(), Token: one.Token, Began: jsonMoment(one.Began),
			Took: one.Ended.Sub(one.Began).Milliseconds(), By: one.By, Error: one.Error,
		})
	}
	return r
}

func (a *app) printRuns(s once.State) error {
	first := "no tick is done"
	if !s.Done.IsZero() {
		first = "done: " + quote.Name(s.Done.String())
	}
	if _, err := fmt.Fprintln(a.out, first); err != nil {
		return err
	}
	table := columns{out: a.out}
	if len(s.Runs) > 0 {
		table.addRow("TICK", "BEGAN", "TOOK", "TOKEN", "RESULT", "BY")
	}
	for _, r := range s.Runs {
		result := "ok"
		if r.Error != "" {
			result = quote.Text(r.Error)
		}
		table.addRow(quote.Name(r.Tick.String()), formatMoment(r.Began), formatAge(r.Ended.Sub(r.Began)),
			strconv.FormatUint(r.Token, 10), result, quote.Cell(r.By))
	}
	return table.flush()
}
