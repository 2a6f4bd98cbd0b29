//go:build unix

// Package cli implements the command line: commands, flags, output and messages.
package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/leasehold-go/leasehold"
	"github.com/leasehold-go/leasehold/admin"
	"github.com/leasehold-go/leasehold/cmd/leasehold/internal/config"
	"github.com/leasehold-go/leasehold/cmd/leasehold/internal/engine"
	"github.com/leasehold-go/leasehold/cmd/leasehold/internal/exit"
	"github.com/leasehold-go/leasehold/driver"
)

// app is one run of the command.
type app struct {
	in        *os.File
	out, err  io.Writer
	root      *cobra.Command
	engine    string           // the value of --engine
	inputURL  string           // the engine URL from standard input
	abilities driver.Abilities // of the engine, once it is open

	secrets redaction
	helpErr error // of printing the help that --help asks for

	interrupted bool // SIGINT has ended the program or the wait
}

// Main runs the command with args, which do not include the command's own name, and returns its exit code. It must be
// called on the main thread, see processgroup.Start. Main may leave goroutines behind, such as one that waits for an
// engine, so the process must end after it.
func Main(args []string, in *os.File, out, errs io.Writer) int {
	a := &app{in: in, out: out, err: errs}
	a.secrets.add(args...)
	for _, set := range os.Environ() {
		name, value, _ := strings.Cut(set, "=")
		if strings.HasPrefix(name, "LEASEHOLD_") || strings.HasPrefix(name, "PG") {
			a.secrets.add(value)
		}
	}
	if len(args) > 0 && (args[0] == cobra.ShellCompRequestCmd || args[0] == cobra.ShellCompNoDescRequestCmd) {
		muteCompletion()
	}
	a.root = a.commands()
	a.root.SetArgs(args)
	err := cmp.Or(a.root.Execute(), a.helpErr)
	if err == nil {
		return exit.OK
	}
	coded, ok := errors.AsType[*exit.Error](err)
	if !ok {
		// An error without a code comes from cobra: an unknown flag or a wrong argument.
		coded = &exit.Error{Code: exit.Usage, Err: err}
	}
	if coded.Err != nil {
		text := coded.Err.Error()
		if _, wrong := errors.AsType[*engine.URLError](err); wrong || coded.Code == exit.Unavailable {
			text += withheldHint(os.Getenv)
		}
		a.printMessage(text, coded.Code == exit.Usage || coded.Code == exit.Config)
	}
	return coded.Code
}

// say prints one line to standard error.
func (a *app) say(format string, args ...any) {
	a.printMessage(fmt.Sprintf(format, args...), false)
}

// printMessage prints one line to standard error. wrongWord says that it is about an invalid flag or argument.
func (a *app) printMessage(text string, wrongWord bool) {
	text = a.secrets.redact(strings.TrimPrefix(text, "leasehold: "), wrongWord)
	// There is nowhere to report a failed write.
	_, _ = fmt.Fprintf(a.err, "leasehold: %s\n", text)
}

func (a *app) commands() *cobra.Command {
	printVersion := false
	root := &cobra.Command{
		Use:   "leasehold [flags] COMMAND",
		Short: "Run programs under a distributed lock, and see what is locked",
		Long: `Run programs under a distributed lock, and see what is locked.

Locks are kept on an engine: --engine URL, or ` + config.EngineVariable + `, or the line
engine = "URL" in ~/.config/leasehold/config.toml or ` + config.SystemFile + `,
in this order: leasehold config shows what counts. If none of them is there: a file in
the user's state folder, for the programs of one user on one machine.

Engines (rediss, redissons, redlocks, etcds and zookeepers instead of redis, redisson, redlock,
etcd and zookeeper encrypt with TLS; postgres does so unless the server is this machine):
  ` + strings.Join(engine.Forms(), "\n  ") + `

Exit codes of all commands: 0 done; 64 a wrong flag, argument or environment; 69 the engine cannot be reached or
used; 74 standard output cannot be written; 78 a wrong config file; 128+N ended by signal N. Each command says
which others it has.`,
		Example: `  leasehold run nightly -- backup --full
  leasehold ls`,
		Args:          refuseArgs,
		SilenceErrors: true,
		SilenceUsage:  true,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if printVersion {
				return a.printVersion("table")
			}
			return a.printHelp(cmd)
		},
	}
	root.SetIn(a.in)
	root.SetOut(a.out)
	root.SetErr(a.err)
	root.SetFlagErrorFunc(flagError)
	root.SetHelpFunc(func(cmd *cobra.Command, _ []string) { a.helpErr = a.printHelp(cmd) })
	root.SetHelpCommand(a.help())
	root.CompletionOptions.DisableDefaultCmd = true
	root.Flags().BoolVarP(&printVersion, "version", "v", false, "print the version, as leasehold version does")
	root.PersistentFlags().BoolP("help", "h", false, "explain the command")
	root.PersistentFlags().StringVar(&a.engine, "engine", "",
		"`URL` of the engine; @FILE has it in a file, and - on the first line of standard input")
	root.AddCommand(a.run(), a.list(), a.inspect(), a.watch(), a.wait(), a.top(), a.check(), a.doctor(), a.openNow(),
		a.leaks(), a.releaseByForce(), a.audit(), a.runs(), a.cron(), a.exporter(), a.showConfig(), a.demo(),
		a.completion(), a.version())
	for _, c := range append(root.Commands(), root) {
		completeFlags(c)
	}
	return root
}

// exactArgs accepts exactly n arguments after the command and its flags.
func exactArgs(n int) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		switch {
		case len(args) > n:
			return unexpected(cmd, args[n])
		case len(args) < n:
			return exit.Errorf(exit.Usage, "NAME is missing: the form is %s", cmd.UseLine())
		case n > 0:
			return checkName(args[0])
		}
		return nil
	}
}

// open opens the engine of the user.
func (a *app) open() (*session, error) { return a.openWith(engine.Open) }

// openFunc opens the engine that a URL names, and returns a function that closes it.
type openFunc = func(url string) (driver.Engine, func() error, error)

func (a *app) openWith(open openFunc) (*session, error) {
	url, at, err := a.engineURL()
	if err != nil {
		return nil, err
	}
	a.secrets.add(url)
	e, closeEngine, err := open(url)
	if err != nil {
		if _, wrong := errors.AsType[*engine.URLError](err); wrong {
			return nil, wrongSetting(at, "%w", err)
		}
		if _, leftOut := errors.AsType[*engine.MissingError](err); leftOut {
			return nil, wrongSetting(at, "%w", err)
		}
		return nil, &exit.Error{Code: exit.Unavailable, Err: err}
	}
	a.abilities = e.Abilities()
	return &session{engine: e, url: url, closeEngine: closeEngine}, nil
}

// session is an open engine, and the client that locks on it if there is one.
type session struct {
	client      *leasehold.Client // nil for commands that take no lock
	engine      driver.Engine
	url         string // it may have a password
	closeEngine func() error
}

// admin returns a client that shows what is on the engine.
func (s *session) admin(opts ...admin.Option) *admin.Client {
	return admin.New(s.engine, append(opts, admin.WithRequestTimeout(RequestTimeout))...)
}

// withAdmin runs f with a client that shows what is on the engine, and a context that INT and TERM end.
func (a *app) withAdmin(cmd *cobra.Command, f func(context.Context, *admin.Client) error) error {
	return a.withAdminBy(cmd, engine.Open, f)
}

func (a *app) withAdminBy(
	cmd *cobra.Command, open openFunc, f func(context.Context, *admin.Client) error, opts ...admin.Option,
) error {
	return a.withSessionBy(cmd, open, func(ctx context.Context, s *session) error { return f(ctx, s.admin(opts...)) })
}

// withSessionBy is withAdminBy for commands that need the engine itself.
func (a *app) withSessionBy(cmd *cobra.Command, open openFunc, f func(context.Context, *session) error) error {
	s, err := a.openWith(open)
	if err != nil {
		return err
	}
	defer s.closeSoon()
	ctx, caught := interruptible(cmd.Context())
	err = awaitOrAbandon(ctx, func() error { return f(ctx, s) })
	if sig := caught(); sig != 0 && err != nil {
		return exit.Silent(exit.Signal(int(sig)))
	}
	return withExitCode(err)
}
