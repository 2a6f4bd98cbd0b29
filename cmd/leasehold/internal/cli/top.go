//go:build unix

package cli

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"github.com/leasehold-go/leasehold/cmd/leasehold/internal/config"
	"github.com/leasehold-go/leasehold/cmd/leasehold/internal/exit"
	"github.com/leasehold-go/leasehold/cmd/leasehold/internal/terminal"
	"github.com/leasehold-go/leasehold/cmd/leasehold/internal/top"
)

func (a *app) top() *cobra.Command {
	kind, prefix, interval := newKind(), "", period(2*time.Second)
	cmd := &cobra.Command{
		Use:   "top",
		Short: "Watch what is held and waited for, on the whole terminal",
		Long: `Watch what is held and waited for, on the whole terminal.

q ends it, ? shows all keys. A look goes through all names, and the next one begins an interval after it has ended.`,
		Args:              words(0, "leasehold top [flags]"),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := a.wholeScreen(os.Getenv); err != nil {
				return err
			}
			if interval < period(100*time.Millisecond) {
				return exit.Errorf(exit.Usage, "--interval is %s: it must be 100ms or more", time.Duration(interval))
			}
			s, err := a.open()
			if err != nil {
				return err
			}
			defer s.close()
			screen := a.screen(os.Getenv)
			return a.untilQuit(cmd.Context(), s, top.Options{
				Engine: a.place(), Kind: kinds[kind.word], Prefix: prefix, Interval: time.Duration(interval),
				ASCII: screen.ASCII, Broad: broad(os.Getenv), Colors: screen.Colors,
			})
		},
	}
	cmd.Flags().Var(&interval, "interval", "time between two looks")
	cmd.Flags().Var(&kind, "kind", "only this kind")
	cmd.Flags().StringVar(&prefix, "prefix", "", "only names that begin with `TEXT`")
	return cmd
}

// wholeScreen refuses what is no terminal, and one that cannot put letters anywhere on its screen.
func (a *app) wholeScreen(getenv func(string) string) error {
	const instead = "use leasehold ls, or leasehold watch"
	out, ok := a.out.(*os.File)
	switch {
	case !ok || !terminal.IsTerminal(out):
		return exit.Errorf(exit.Usage, "leasehold top needs a terminal, and standard output is none: %s", instead)
	case !terminal.IsTerminal(a.in):
		return exit.Errorf(exit.Usage, "leasehold top needs a terminal, and standard input is none: %s", instead)
	case getenv("TERM") == "" || getenv("TERM") == "dumb":
		return exit.Errorf(exit.Usage, "TERM is %q, a terminal that can only write line after line: %s", getenv("TERM"), instead)
	}
	return nil
}

// untilQuit shows the screen until q is pressed, or a signal comes.
func (a *app) untilQuit(parent context.Context, s *session, o top.Options) error {
	ctx, cancel := context.WithCancelCause(parent)
	defer cancel(nil)
	caught := make(chan os.Signal, 1)
	catch(caught, []os.Signal{unix.SIGINT, unix.SIGTERM, unix.SIGHUP, unix.SIGQUIT})
	defer signal.Stop(caught)
	go func() {
		select {
		case sig := <-caught:
			cancel(exit.Silent(exit.Signal(int(sig.(unix.Signal)))))
		case <-ctx.Done():
		}
	}()
	err := top.Run(ctx, s.client, o)
	switch {
	case errors.Is(err, top.ErrNoTerminal):
		return &exit.Error{Code: exit.Unavailable, Err: err}
	case errors.Is(err, top.ErrTerminalGone): // the signal that says so may come later
		return exit.Silent(exit.Signal(int(unix.SIGHUP)))
	}
	return failure(err)
}

// place is what the engine is called where others may see it: its URL, which has been opened, without user, password and parameters.
func (a *app) place() string {
	raw, err := config.Engine(a.engine, a.root.PersistentFlags().Changed("engine"), os.Getenv)
	if err != nil {
		return ""
	}
	return public(raw)
}

// public leaves out of a URL whatever may be secret. In doubt, it leaves out more.
func public(raw string) string {
	scheme, rest, found := strings.Cut(raw, ":")
	if !found {
		return ""
	}
	rest, _, _ = strings.Cut(rest, "?")
	location, isURL := strings.CutPrefix(rest, "//")
	if !isURL || strings.HasPrefix(location, "/") {
		return scheme + ":" + rest // the path of a file
	}
	return scheme + "://" + location[strings.LastIndex(location, "@")+1:]
}

// broad reports whether the user says that letters of doubtful width take two columns, in the way in which many programs ask.
func broad(getenv func(string) string) bool {
	switch strings.ToLower(getenv("RUNEWIDTH_EASTASIAN")) {
	case "1", "true", "yes":
		return true
	}
	return false
}
