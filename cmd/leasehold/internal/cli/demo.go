//go:build unix

package cli

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/leasehold-go/leasehold/cmd/leasehold/internal/demo"
	"github.com/leasehold-go/leasehold/cmd/leasehold/internal/demo/cases"
	"github.com/leasehold-go/leasehold/cmd/leasehold/internal/demo/draw"
	"github.com/leasehold-go/leasehold/cmd/leasehold/internal/engine"
	"github.com/leasehold-go/leasehold/cmd/leasehold/internal/exit"
	"github.com/leasehold-go/leasehold/cmd/leasehold/internal/terminal"
)

// demoOptions are the flags and arguments of demo.
type demoOptions struct {
	cases []cases.Case
	real  bool
	seed  uint64
	svg   string
	json  bool
}

func (a *app) demo() *cobra.Command {
	var p demoOptions
	output := newOutput()
	cmd := &cobra.Command{
		Use:   "demo [flags] [CASE...]",
		Short: "Play the classic cases that break locks, without leasehold and with it",
		Long: `Play the classic cases that break locks, each once with a lock of a few commands and once with leasehold.

It needs nothing and changes nothing: by default it plays in virtual time, at once, and simulates what clients
and servers do by their rules. With --real it plays with the library itself, on Redis servers of its own that it
starts for some seconds. The engine (--engine) does not matter.

Cases:
` + caseList(),
		Example: `  leasehold demo
  leasehold demo c d
  leasehold demo --real -o json`,
		ValidArgsFunction: cobra.FixedCompletions(caseCompletions(), cobra.ShellCompDirectiveNoFileComp),
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			if p.cases, err = demo.Find(args); err != nil {
				return &exit.Error{Code: exit.Usage, Err: err}
			}
			if cmd.Flags().Changed("svg") && p.svg == "" {
				return exit.Errorf(exit.Usage, `--svg "" is not allowed: it must be a file to write`)
			}
			p.json = output.value == "json"
			return a.runDemo(cmd, p)
		},
	}
	cmd.Flags().BoolVar(&p.real, "real", false,
		"play on Redis servers that are started for it: it takes some ten seconds")
	cmd.Flags().Uint64Var(&p.seed, "seed", 1, "another `N` makes other durations; the same N, the same")
	cmd.Flags().StringVar(&p.svg, "svg", "", "write the pictures to `FILE`, too")
	output.register(cmd)
	return cmd
}

func caseList() string {
	var b strings.Builder
	for _, c := range cases.All {
		b.WriteString("  " + c.Letter + "  " + c.Title + "\n")
	}
	return strings.TrimRight(b.String(), "\n")
}

func caseCompletions() (all []cobra.Completion) {
	for _, c := range cases.All {
		all = append(all, cobra.CompletionWithDesc(c.Letter, c.Title))
	}
	return all
}

// runDemo plays the cases and reports the outcome.
func (a *app) runDemo(cmd *cobra.Command, p demoOptions) error {
	figures, err := a.playCases(cmd, p)
	if err != nil {
		return err
	}
	if p.svg != "" {
		if err := writeSVG(p.svg, figures); err != nil {
			return exit.Errorf(exit.Usage, "--svg: %w", err)
		}
	}
	return a.reportDemo(p, figures)
}

// reportDemo prints what happened, and returns an error if leasehold has lost an update.
func (a *app) reportDemo(p demoOptions, figures []draw.Figure) (err error) {
	if p.json {
		err = a.printJSON(demo.JSON(p.seed, p.real, figures))
	} else {
		err = a.printFigures(figures, p.real)
	}
	if err != nil {
		return withExitCode(err)
	}
	if harmless := demo.Harmless(figures); len(harmless) > 0 {
		a.say("nothing was lost without leasehold in case %s, so nothing is shown: the machine may be busy, play it "+
			"again", strings.Join(harmless, ", "))
	}
	if broken := demo.Broken(figures); len(broken) > 0 {
		return exit.Errorf(exit.No, "leasehold has lost an update, or hangs, in case %s: that must not be",
			strings.Join(broken, ", "))
	}
	return nil
}

// playCases plays the cases. A signal ends the servers that it has started.
func (a *app) playCases(cmd *cobra.Command, p demoOptions) (figures []draw.Figure, err error) {
	if !p.real {
		for _, c := range p.cases {
			figures = append(figures, demo.Simulate(c, p.seed))
		}
		return figures, nil
	}
	if file, ok := a.err.(*os.File); ok && terminal.IsTerminal(file) {
		a.say("playing on Redis servers, which end with it: some ten seconds")
	}
	ctx, caught := interruptible(cmd.Context())
	figures, err = demo.RunOnServers(ctx, p.cases, p.seed)
	if sig := caught(); sig != 0 && err != nil {
		return nil, exit.Silent(exit.Signal(int(sig)))
	}
	if errors.Is(err, demo.ErrMissing) {
		return nil, exit.Errorf(exit.Unavailable,
			"--real needs redis-server, which is not in PATH: install it (on Debian: apt-get install redis-server), "+
				"or play without --real")
	}
	if _, leftOut := errors.AsType[*engine.MissingError](err); leftOut {
		return nil, &exit.Error{Code: exit.Usage, Err: err}
	}
	if err != nil {
		return nil, &exit.Error{Code: exit.Unavailable, Err: err}
	}
	return figures, nil
}

// printFigures prints the pictures and the table, and says how they were made.
func (a *app) printFigures(figures []draw.Figure, real bool) error {
	s := a.screen(os.Getenv)
	if err := draw.Legend(a.out, s); err != nil {
		return err
	}
	for _, f := range figures {
		if err := draw.Text(a.out, s, f); err != nil {
			return err
		}
	}
	if err := draw.Table(a.out, figures); err != nil {
		return err
	}
	how := "Simulated in virtual time, by the rules of leasehold and of Redis. --real plays with the library itself, " +
		"on Redis servers."
	if real {
		how = "Played with the library itself, on Redis servers. Pauses of clients, and the jump of a clock, were " +
			"made by what they come to."
	}
	if _, err := fmt.Fprintln(a.out); err != nil {
		return err
	}
	return s.Paragraph(a.out, "", how)
}

func writeSVG(file string, figures []draw.Figure) error {
	var b strings.Builder
	if err := draw.SVG(&b, figures); err != nil {
		return err
	}
	return os.WriteFile(file, []byte(b.String()), 0o644)
}
