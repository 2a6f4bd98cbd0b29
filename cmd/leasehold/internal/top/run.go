//go:build unix

package top

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/gdamore/tcell/v3"

	"github.com/leasehold-go/leasehold"
)

// Errors of Run.
var (
	// ErrNoTerminal: the process has no terminal that it may use.
	ErrNoTerminal = errors.New("there is no terminal to show anything on")
	// ErrTerminalGone: it has none any more. Nobody sees what is said about that.
	ErrTerminalGone = errors.New("the terminal is gone")
)

// Run shows the engine of a client on the terminal that controls the process, until q is pressed: then it returns nil. When ctx ends, it returns
// the cause of that. Whatever happens, even a panic of what it has started itself, the terminal is as before when it returns.
//
// While it runs, it catches SIGTSTP, SIGCONT and SIGWINCH. The other signals are the caller's: it ends ctx.
func Run(ctx context.Context, c *leasehold.Client, o Options) error {
	tty, err := tcell.NewDevTty()
	if err != nil {
		return fmt.Errorf("%w: %w", ErrNoTerminal, err)
	}
	jobs := controlJobs()
	defer jobs.end()
	return run(ctx, c, o, tty, jobs)
}

func run(ctx context.Context, c *leasehold.Client, o Options, tty tcell.Tty, jobs *jobs) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	// The terminal is asked nothing: an answer that is late, as over ssh, would be typed into the shell.
	opts := []tcell.TerminfoScreenOption{tcell.OptNegotiation(false), tcell.OptSanitizeContent(true)}
	if !o.Colors {
		opts = append(opts, tcell.OptColors(0))
	}
	screen, err := tcell.NewTerminfoScreenFromTty(tty, opts...)
	if err == nil {
		err = screen.Init()
	}
	if err != nil {
		return fmt.Errorf("%w: %w", ErrNoTerminal, err)
	}
	// Deferred so that it is done even if something panics.
	defer screen.Fini()
	l := &loop{model: newModel(o, time.Now()), desk: newDesk(ctx, c), painter: newPainter(screen, o.Colors), screen: screen, jobs: jobs}
	l.model.resize(screen.Size())
	err = l.run(ctx)
	screen.Fini()
	cancel()
	l.desk.wait(l.model)
	return err
}

// loop brings keys, answers and time to the model, and what it says to the engine and the terminal.
type loop struct {
	model   *model
	desk    *desk
	painter *painter
	screen  tcell.Screen
	jobs    *jobs
}

func (l *loop) run(ctx context.Context) error {
	m := l.model
	for {
		m.now = time.Now()
		for e := range sorts {
			if m.unfit(e) {
				l.desk.stop(e)
			}
		}
		for _, t := range m.tasks() {
			l.desk.start(t)
		}
		m.settle()
		l.painter.paint(m.draw())
		timer := time.NewTimer(time.Until(m.wake()))
		err := l.next(ctx, timer.C)
		timer.Stop()
		if err != nil || m.ended {
			return err
		}
	}
}

// next waits for one thing to happen, and takes in whatever has happened.
func (l *loop) next(ctx context.Context, due <-chan time.Time) error {
	m := l.model
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-due:
	case event, ok := <-l.screen.EventQ():
		if !ok {
			return ErrTerminalGone
		}
		m.now = time.Now()
		return l.on(event)
	case a := <-l.desk.answers:
		if a.panic != nil {
			panic(a.panic)
		}
		m.now = time.Now()
		m.take(a)
	case so := <-l.desk.progress:
		m.progress(so)
	case <-l.jobs.stop:
		return l.suspend(false)
	case <-l.jobs.cont:
		return l.resume()
	}
	return nil
}

func (l *loop) on(event tcell.Event) error {
	switch event := event.(type) {
	case *tcell.EventError:
		return fmt.Errorf("%w: %w", ErrTerminalGone, event)
	case *tcell.EventResize:
		l.model.resize(event.Size())
	case *tcell.EventKey:
		switch key := keyName(event); key {
		case "ctrl-l":
			l.screen.Sync()
		case "ctrl-z":
			return l.suspend(true)
		default:
			l.model.press(key)
		}
	}
	return nil
}

// keyName is a key as the model knows it.
func keyName(e *tcell.EventKey) string {
	if name, ok := special[e.Key()]; ok {
		return name
	}
	if e.Key() == tcell.KeyRune && e.Modifiers()&(tcell.ModCtrl|tcell.ModAlt|tcell.ModMeta) == 0 {
		return e.Str()
	}
	return "another " + strings.ToLower(e.Name()) // no key that does anything
}

var special = map[tcell.Key]string{
	tcell.KeyUp: "up", tcell.KeyDown: "down", tcell.KeyLeft: "left", tcell.KeyRight: "right", tcell.KeyPgUp: "pgup", tcell.KeyPgDn: "pgdn",
	tcell.KeyHome: "home", tcell.KeyEnd: "end", tcell.KeyEnter: "enter", tcell.KeyEsc: "esc", tcell.KeyBackspace: "backspace",
	tcell.KeyCtrlC: "ctrl-c", tcell.KeyCtrlL: "ctrl-l", tcell.KeyCtrlU: "ctrl-u", tcell.KeyCtrlZ: "ctrl-z",
	tcell.KeyCtrlB: "pgup", tcell.KeyCtrlF: "pgdn",
}
