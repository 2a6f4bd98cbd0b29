//go:build unix

package top

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/gdamore/tcell/v3"
	"github.com/leasehold-go/leasehold/admin"
)

// Errors of Run.
var (
	// ErrNoTerminal means that the process has no terminal that it may use.
	ErrNoTerminal = errors.New("there is no terminal to show anything on")
	// ErrTerminalGone means that the terminal has gone away. Nobody sees a message about that.
	ErrTerminalGone = errors.New("the terminal is gone")
)

// Run shows the engine of a client on the controlling terminal until q is pressed, and then returns nil. When ctx ends,
// it returns the cause. When it returns, the terminal is as before, even after a panic in a goroutine that Run has
// started.
//
// While it runs, it catches SIGTSTP, SIGCONT and SIGWINCH. The other signals are up to the caller, who can end ctx.
func Run(ctx context.Context, c *admin.Client, o Options) error {
	tty, err := tcell.NewDevTty()
	if err != nil {
		return fmt.Errorf("%w: %w", ErrNoTerminal, err)
	}
	jobs := controlJobs()
	defer jobs.end()
	return run(ctx, c, o, tty, jobs)
}

func run(ctx context.Context, c *admin.Client, o Options, tty tcell.Tty, jobs *jobs) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	// The terminal is asked nothing: a late answer, as over ssh, would be typed into the shell.
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
	// Deferred so that it also runs after a panic.
	defer screen.Fini()
	l := &loop{
		model: newModel(o, time.Now()), requests: newRequests(ctx, c), painter: newPainter(screen, o.Colors),
		screen: screen, jobs: jobs,
	}
	l.model.resize(screen.Size())
	err = l.run(ctx)
	screen.Fini()
	cancel()
	l.requests.wait(l.model)
	return err
}

// loop passes keys, responses and time to the model, and carries out what the model wants.
type loop struct {
	model    *model
	requests *requests
	painter  *painter
	screen   tcell.Screen
	jobs     *jobs
}

func (l *loop) run(ctx context.Context) error {
	m := l.model
	for {
		m.now = time.Now()
		for e := range requestKinds {
			if m.isObsolete(e) {
				l.requests.cancel(e)
			}
		}
		for _, t := range m.startDue() {
			l.requests.start(t)
		}
		m.scrollToSelected()
		l.painter.paint(m.draw())
		timer := time.NewTimer(time.Until(m.wakeAt()))
		err := l.next(ctx, timer.C)
		timer.Stop()
		if err != nil || m.quit {
			return err
		}
	}
}

// next waits for one event and handles it.
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
		return l.handle(event)
	case a := <-l.requests.responses:
		if a.panic != nil {
			panic(a.panic)
		}
		m.now = time.Now()
		m.noteResponse(a)
	case so := <-l.requests.progress:
		m.noteProgress(so)
	case <-l.jobs.stop:
		return l.suspend(false)
	case <-l.jobs.cont:
		return l.resume()
	}
	return nil
}

func (l *loop) handle(event tcell.Event) error {
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

// keyName returns the name of a key in the model.
func keyName(e *tcell.EventKey) string {
	if name, ok := specialKeys[e.Key()]; ok {
		return name
	}
	if e.Key() == tcell.KeyRune && e.Modifiers()&(tcell.ModCtrl|tcell.ModAlt|tcell.ModMeta) == 0 {
		return e.Str()
	}
	return "another " + strings.ToLower(e.Name()) // a name that has no meaning in the model
}

var specialKeys = map[tcell.Key]string{
	tcell.KeyUp: "up", tcell.KeyDown: "down", tcell.KeyLeft: "left", tcell.KeyRight: "right",
	tcell.KeyPgUp: "pgup", tcell.KeyPgDn: "pgdn", tcell.KeyHome: "home", tcell.KeyEnd: "end",
	tcell.KeyEnter: "enter", tcell.KeyEsc: "esc", tcell.KeyBackspace: "backspace",
	tcell.KeyCtrlC: "ctrl-c", tcell.KeyCtrlL: "ctrl-l", tcell.KeyCtrlU: "ctrl-u", tcell.KeyCtrlZ: "ctrl-z",
	tcell.KeyCtrlB: "pgup", tcell.KeyCtrlF: "pgdn",
}
