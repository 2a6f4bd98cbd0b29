//go:build unix

package top

import (
	"fmt"
	"os"
	"os/signal"
	"time"

	"golang.org/x/sys/unix"
)

// jobs are the signals by which a shell stops a job and has it go on.
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

// standstill is how long the system has to stop this process after it was asked to. It does not stop one whose shell does not control jobs, or that has
// no shell.
const standstill = 300 * time.Millisecond

// suspend gives the terminal back, stops this process, and goes on when it is continued. If a key has asked for it, the whole job is stopped, as by a
// terminal that is not in raw mode.
func (l *loop) suspend(job bool) error {
	if err := l.screen.Suspend(); err != nil {
		return fmt.Errorf("%w: %w", ErrTerminalGone, err)
	}
	if job {
		signal.Ignore(unix.SIGTSTP)
		_ = unix.Kill(0, unix.SIGTSTP)
		signal.Notify(l.jobs.stop, unix.SIGTSTP)
	}
	// SIGTTIN stops a process as SIGTSTP does, but Go does not let a program take back that it has once caught a signal.
	_ = unix.Kill(unix.Getpid(), unix.SIGTTIN)
	select {
	case <-l.jobs.cont:
	case <-time.After(standstill):
	}
	return l.engage()
}

// resume puts the screen right after a stop that could not be caught: the shell may have changed the modes of the terminal.
func (l *loop) resume() error {
	if err := l.screen.Suspend(); err != nil {
		return fmt.Errorf("%w: %w", ErrTerminalGone, err)
	}
	return l.engage()
}

// engage takes the terminal, and looks at once: what was seen is old.
func (l *loop) engage() error {
	if err := l.screen.Resume(); err != nil {
		return fmt.Errorf("%w: %w", ErrTerminalGone, err)
	}
	l.model.now = time.Now()
	l.model.resize(l.screen.Size())
	for e := range sorts {
		l.model.restart(e)
	}
	return nil
}
