//go:build unix

// Package cli is the command line: commands, flags, output, messages.
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/leasehold-go/leasehold"
	"github.com/leasehold-go/leasehold/cmd/leasehold/internal/config"
	"github.com/leasehold-go/leasehold/cmd/leasehold/internal/engine"
	"github.com/leasehold-go/leasehold/cmd/leasehold/internal/exit"
	"github.com/leasehold-go/leasehold/driver"
)

// app is one run of the command.
type app struct {
	in       *os.File
	out, err io.Writer
	root     *cobra.Command
	engine   string           // --engine
	typed    string           // what standard input has said it is
	can      driver.Abilities // of the engine, once it is open

	secrets redaction

	interrupted bool // the program, or the waiting, was ended by SIGINT
}

// Main runs the command with args, those behind the command's own name, and returns its exit
// code. It must be called on the main thread, see group.Start.
func Main(args []string, in *os.File, out, errs io.Writer) int {
	a := &app{in: in, out: out, err: errs}
	a.secrets.learn(append(args[:len(args):len(args)], os.Getenv(config.EngineVariable))...)
	a.root = a.commands()
	a.root.SetArgs(args)
	err := a.root.Execute()
	if err == nil {
		return exit.OK
	}
	coded, ok := errors.AsType[*exit.Error](err)
	if !ok {
		// What has no code comes from cobra: a word or a flag that it does not know.
		coded = &exit.Error{Code: exit.Usage, Err: err}
	}
	if coded.Err != nil {
		text := coded.Err.Error()
		if _, wrong := errors.AsType[*engine.URLError](err); wrong || coded.Code == exit.Unavailable {
			text += withheld(os.Getenv)
		}
		a.tell(text, coded.Code == exit.Usage)
	}
	return coded.Code
}

// say prints one line on standard error.
func (a *app) say(format string, args ...any) {
	a.tell(fmt.Sprintf(format, args...), false)
}

// tell is say, of words that were wrong or of something else.
func (a *app) tell(text string, wrongWord bool) {
	text = a.secrets.hide(strings.TrimPrefix(text, "leasehold: "), wrongWord)
	// A message that cannot be written has nowhere else to go.
	_, _ = fmt.Fprintf(a.err, "leasehold: %s\n", text)
}

func (a *app) commands() *cobra.Command {
	root := &cobra.Command{
		Use:   "leasehold",
		Short: "Run programs under a distributed lock, and see what is locked",
		Long: `Run programs under a distributed lock, and see what is locked.

Locks are kept on an engine: --engine URL, or ` + config.EngineVariable + `, or the line
engine = "URL" in ~/.config/leasehold/config.toml, in this order. If none of them is
there: a file in the user's state folder, for the programs of one user on one machine.

Engines (rediss, redlocks, etcds and zookeepers instead of redis, redlock, etcd and zookeeper
encrypt with TLS; postgres does so unless the server is this machine):
  ` + strings.Join(engine.Forms(), "\n  ") + `

Exit codes of all commands: 0 done; 64 a wrong flag, word, environment or config file; 69 the engine cannot be reached or used;
128+N ended by signal N. Each command says which others it has.`,
		Args:          command,
		SilenceErrors: true,
		SilenceUsage:  true,
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.SetIn(a.in)
	root.SetOut(a.out)
	root.SetErr(a.err)
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return exit.Errorf(exit.Usage, "%w; see %s --help", err, cmd.CommandPath())
	})
	root.PersistentFlags().StringVar(&a.engine, "engine", "", "`URL` of the engine; @FILE has it in a file, and - on the first line of standard input")
	root.AddCommand(a.run(), a.list(), a.inspect(), a.watch(), a.wait(), a.top(), a.check(), a.doctor(), a.openNow(), a.leaks(), a.releaseByForce(), a.audit(), a.exporter(), a.demo(), a.version())
	root.InitDefaultCompletionCmd()
	for _, c := range root.Commands() {
		if c.Name() == "completion" { // cobra's own answers to an unknown shell with success
			c.Args, c.RunE = command, func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
		}
	}
	return root
}

// command refuses words that are no command.
func command(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return exit.Errorf(exit.Usage, "%q is not a command: %s --help lists them", args[0], cmd.CommandPath())
	}
	return nil
}

// words accepts exactly n words behind the command and its flags.
func words(n int, usage string) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		switch {
		case len(args) > n:
			return exit.Errorf(exit.Usage, "%q is not expected here: the form is %s", args[n], usage)
		case len(args) < n:
			return exit.Errorf(exit.Usage, "NAME is missing: the form is %s", usage)
		case n > 0:
			return plainName(args[0])
		}
		return nil
	}
}

// open opens the engine that the user means.
func (a *app) open(opts ...leasehold.ClientOption) (*session, error) {
	return a.openBy(engine.Open, opts...)
}

// opening opens the engine that a URL names.
type opening = func(url string) (driver.Engine, func() error, error)

func (a *app) openBy(open opening, opts ...leasehold.ClientOption) (*session, error) {
	url, err := a.engineURL(os.Getenv)
	if err != nil {
		return nil, err
	}
	a.secrets.learn(url)
	e, closeEngine, err := open(url)
	if err != nil {
		code := exit.Unavailable
		if _, ok := errors.AsType[*engine.URLError](err); ok {
			code = exit.Usage
		}
		return nil, &exit.Error{Code: code, Err: err}
	}
	a.can = e.Abilities()
	return &session{client: leasehold.New(e, opts...), engine: e, url: url, closeEngine: closeEngine}, nil
}

// session is a client and its engine.
type session struct {
	client      *leasehold.Client
	engine      driver.Engine
	url         string // it may have a password
	closeEngine func() error
}

// close ends the session. What it could not release has been reported by the lease's own
// Release, and an engine that does not close has nothing left to lose.
func (s *session) close() {
	_ = s.client.Close()
	_ = s.closeEngine()
}

// asking runs f with a client and a context that INT and TERM end.
func (a *app) asking(cmd *cobra.Command, f func(context.Context, *leasehold.Client) error) error {
	return a.askingBy(cmd, engine.Open, f)
}

func (a *app) askingBy(cmd *cobra.Command, open opening, f func(context.Context, *leasehold.Client) error, opts ...leasehold.ClientOption) error {
	s, err := a.openBy(open, opts...)
	if err != nil {
		return err
	}
	defer s.close()
	ctx, caught := interruptible(cmd.Context())
	err = f(ctx, s.client)
	if sig := caught(); sig != 0 && err != nil {
		return exit.Silent(exit.Signal(int(sig)))
	}
	return failure(err)
}
