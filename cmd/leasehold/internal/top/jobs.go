//go:build unix

package top

import (
	"fmt"
	"os"
	"os/signal"
	"time"

	"golang.org/x/sys/unix"
)

// jobs are the signals by which a shell stops and continues a job.
type jobs struct{ stop, cont chan os.Signal }

func controlJobs() *jobs {
	j := &jobs{stop: make(chan os.Signal, 1), cont: make(chan os.Signal, 1)}
	if !signal.Ignored(unix.SIGTSTP) {
		signal.Notify(j.stop, unix.SIGTSTP)
	}
	signal.Notify(j.cont, unix.SIGCONT)
	return j
}

func (j *jobs) end() {
	signal.Stop(j.stop)
	signal.Stop(j.cont)
}

// stopTimeout is how long the system has to stop this process after suspend has asked for it. It does not stop a
// process whose shell has no job control, or that has no shell.
const stopTimeout = 300 * time.Millisecond

// suspend gives the terminal back, stops this process, and goes on when it is continued. After a key (job is true) it
// stops the whole job, as a terminal does that is not in raw mode.
func (l *loop) suspend(job bool) error {
	if err := l.screen.Suspend(); err != nil {
		return fmt.Errorf("%w: %w", ErrTerminalGone, err)
	}
	if job {
		signal.Ignore(unix.SIGTSTP)
		_ = unix.Kill(0, unix.SIGTSTP)
		signal.Notify(l.jobs.stop, unix.SIGTSTP)
	}
	// SIGTTIN stops a process as SIGTSTP does, but a Go program that has caught SIGTSTP once cannot restore its default
	// action.
	_ = unix.Kill(unix.Getpid(), unix.SIGTTIN)
	select {
	case <-l.jobs.cont:
	case <-time.After(stopTimeout):
	}
	return l.takeTerminal()
}

// resume repairs the screen after a stop that could not be caught: the shell may have changed the terminal's modes.
func (l *loop) resume() error {
	if err := l.screen.Suspend(); err != nil {
		return fmt.Errorf("%w: %w", ErrTerminalGone, err)
	}
	return l.takeTerminal()
}

// takeTerminal takes the terminal and polls at once, since the data is old.
func (l *loop) takeTerminal() error {
	if err := l.screen.Resume(); err != nil {
		return fmt.Errorf("%w: %w", ErrTerminalGone, err)
	}
	l.model.now = time.Now()
	l.model.resize(l.screen.Size())
	for e := range requestKinds {
		l.model.restart(e)
	}
	return nil
}
