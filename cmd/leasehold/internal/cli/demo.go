//go:build unix

package cli

import (
	"errors"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/leasehold-go/leasehold/cmd/leasehold/internal/demo"
	"github.com/leasehold-go/leasehold/cmd/leasehold/internal/demo/cases"
	"github.com/leasehold-go/leasehold/cmd/leasehold/internal/demo/draw"
	"github.com/leasehold-go/leasehold/cmd/leasehold/internal/exit"
	"github.com/leasehold-go/leasehold/cmd/leasehold/internal/terminal"
)

// performance is what the user wants to see.
type performance struct {
	cases []cases.Case
	real  bool
	seed  uint64
	svg   string
	json  bool
}

func (a *app) demo() *cobra.Command {
	var p performance
	output := newOutput()
	cmd := &cobra.Command{
		Use:   "demo [CASE...]",
		Short: "Play the classic cases that break locks, without leasehold and with it",
		Long: `Play the classic cases that break locks, each once with a lock of a few commands and once with leasehold.

Nothing is needed for it, and nothing is touched: by default it plays in virtual time, at once, and what clients and
servers do is simulated by their rules. With --real it plays with the library itself, on Redis servers of its own that it
starts for some seconds. Engines (--engine) do not matter.

Cases:
` + caseList(),
		ValidArgsFunction: cobra.FixedCompletions(completions(), cobra.ShellCompDirectiveNoFileComp),
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			if p.cases, err = demo.Find(args); err != nil {
				return &exit.Error{Code: exit.Usage, Err: err}
			}
			if cmd.Flags().Changed("svg") && p.svg == "" {
				return exit.Errorf(exit.Usage, `--svg "" is not allowed: it must be a file to write`)
			}
			p.json = output.word == "json"
			return a.perform(cmd, p)
		},
	}
	cmd.Flags().BoolVar(&p.real, "real", false, "play on Redis servers that are started for it: it takes some ten seconds")
	cmd.Flags().Uint64Var(&p.seed, "seed", 1, "another number makes other durations; the same one the same play")
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

func completions() (all []cobra.Completion) {
	for _, c := range cases.All {
		all = append(all, cobra.CompletionWithDesc(c.Letter, c.Title))
	}
	return all
}

// perform plays, shows, and judges.
func (a *app) perform(cmd *cobra.Command, p performance) error {
	figures, err := a.play(cmd, p)
	if err != nil {
		return err
	}
	if p.svg != "" {
		if err := writeSVG(p.svg, figures); err != nil {
			return exit.Errorf(exit.Usage, "--svg: %w", err)
		}
	}
	return a.judge(p, figures)
}

// judge shows what was played, and says if something was lost that must not be.
func (a *app) judge(p performance, figures []draw.Figure) (err error) {
	if p.json {
		err = a.printJSON(demo.JSON(p.seed, p.real, figures))
	} else {
		err = a.show(figures, p.real)
	}
	if err != nil {
		return err
	}
	if harmless := demo.Harmless(figures); len(harmless) > 0 {
		a.say("nothing was lost without leasehold in case %s, so nothing is shown: the machine may be busy, play it again", strings.Join(harmless, ", "))
	}
	if broken := demo.Broken(figures); len(broken) > 0 {
		return exit.Errorf(exit.No, "leasehold has lost an update, or hangs, in case %s: that must not be", strings.Join(broken, ", "))
	}
	return nil
}

// play plays the cases. A signal ends the servers that it has started.
func (a *app) play(cmd *cobra.Command, p performance) (figures []draw.Figure, err error) {
	if !p.real {
		for _, c := range p.cases {
			figures = append(figures, demo.Virtual(c, p.seed))
		}
		return figures, nil
	}
	if file, ok := a.err.(*os.File); ok && terminal.IsTerminal(file) {
		a.say("playing on Redis servers, which end with it: some ten seconds")
	}
	ctx, caught := interruptible(cmd.Context())
	figures, err = demo.Real(ctx, p.cases, p.seed)
	if sig := caught(); sig != 0 && err != nil {
		return nil, exit.Silent(exit.Signal(int(sig)))
	}
	if errors.Is(err, demo.ErrMissing) {
		return nil, exit.Errorf(exit.Unavailable, "--real needs redis-server, which is not in PATH: install it (on Debian: apt-get install redis-server), or play without --real")
	}
	if err != nil {
		return nil, &exit.Error{Code: exit.Unavailable, Err: err}
	}
	return figures, nil
}

// show prints pictures and the table, and says what they are of.
func (a *app) show(figures []draw.Figure, real bool) error {
	screen := a.screen(os.Getenv)
	if err := screen.Legend(a.out); err != nil {
		return err
	}
	for _, f := range figures {
		if err := screen.Draw(a.out, f); err != nil {
			return err
		}
	}
	if err := draw.Table(a.out, figures); err != nil {
		return err
	}
	how := "Simulated in virtual time, by the rules of leasehold and of Redis. --real plays with the library itself, on Redis servers."
	if real {
		how = "Played with the library itself, on Redis servers. Pauses of clients, and the jump of a clock, were made by what they come to."
	}
	return screen.Say(a.out, how)
}

func writeSVG(file string, figures []draw.Figure) error {
	var b strings.Builder
	if err := draw.SVG(&b, figures); err != nil {
		return err
	}
	return os.WriteFile(file, []byte(b.String()), 0o644)
}
