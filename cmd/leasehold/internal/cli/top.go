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
		Use:   "top [flags]",
		Short: "Watch what is held and waited for, on the whole terminal",
		Long: `Watch what is held and waited for, on the whole terminal.

q ends it, ? shows all keys. A poll goes through all names, and the next one begins an interval after it has ended.`,
		Example: `  leasehold top
  leasehold top --kind lock --prefix order: --interval 5s`,
		Args:              exactArgs(0),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := a.checkTerminal(os.Getenv); err != nil {
				return err
			}
			if interval < period(100*time.Millisecond) {
				return exit.Errorf(exit.Usage, "--interval is %s: it must be 100ms or more", time.Duration(interval))
			}
			s, err := a.open()
			if err != nil {
				return err
			}
			defer s.closeSoon()
			screen := a.screen(os.Getenv)
			return a.showUntilQuit(cmd.Context(), s, top.Options{
				Engine: a.engineLabel(), Kind: kinds[kind.value], Prefix: prefix, Interval: time.Duration(interval),
				ASCII: screen.ASCII, WideAmbiguous: hasWideAmbiguous(os.Getenv), Colors: screen.Colors,
			})
		},
	}
	cmd.Flags().Var(&interval, "interval", "time between two polls")
	cmd.Flags().Var(&kind, "kind", "only this kind")
	cmd.Flags().StringVar(&prefix, "prefix", "", "only names that begin with `TEXT`")
	return cmd
}

// checkTerminal refuses anything but a terminal that can address any cell of its screen.
func (a *app) checkTerminal(getenv func(string) string) error {
	const instead = "use leasehold ls, or leasehold watch"
	out, ok := a.out.(*os.File)
	switch {
	case !ok || !terminal.IsTerminal(out):
		return exit.Errorf(exit.Usage, "leasehold top needs a terminal, and standard output is none: %s", instead)
	case !terminal.IsTerminal(a.in):
		return exit.Errorf(exit.Usage, "leasehold top needs a terminal, and standard input is none: %s", instead)
	case getenv("TERM") == "" || getenv("TERM") == "dumb":
		return exit.Errorf(exit.Usage, "TERM is %q, a terminal that can only write line after line: %s", getenv("TERM"),
			instead)
	}
	return nil
}

// showUntilQuit shows the screen until q is pressed or a signal comes.
func (a *app) showUntilQuit(parent context.Context, s *session, o top.Options) error {
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
	err := top.Run(ctx, s.admin(), o)
	switch {
	case errors.Is(err, top.ErrNoTerminal):
		return &exit.Error{Code: exit.Unavailable, Err: err}
	case errors.Is(err, top.ErrTerminalGone): // the signal that says so may come later
		return exit.Silent(exit.Signal(int(unix.SIGHUP)))
	}
	return withExitCode(err)
}

// engineLabel returns what others may see of the engine's URL: no user, password or parameters. The URL has been opened
// before.
func (a *app) engineLabel() string {
	set, err := config.Engine(a.engine, a.root.PersistentFlags().Changed("engine"), os.LookupEnv)
	if err != nil {
		return ""
	}
	return withoutSecrets(set.Text)
}

// withoutSecrets leaves out of a URL whatever may be secret. When in doubt, it leaves out more.
func withoutSecrets(raw string) string {
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

// hasWideAmbiguous reports whether letters of ambiguous width take two columns, by the variable that many programs use
// for that.
func hasWideAmbiguous(getenv func(string) string) bool {
	switch strings.ToLower(getenv("RUNEWIDTH_EASTASIAN")) {
	case "1", "true", "yes":
		return true
	}
	return false
}
