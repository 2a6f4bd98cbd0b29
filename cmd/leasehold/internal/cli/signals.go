//go:build unix

package cli

import (
	"context"
	"os"
	"os/signal"
	"slices"

	"golang.org/x/sys/unix"
)

// endingSignals end a program that does not catch them. While run waits for a lock, they end the wait.
var endingSignals = []os.Signal{unix.SIGINT, unix.SIGTERM, unix.SIGHUP, unix.SIGQUIT, unix.SIGUSR1, unix.SIGUSR2}

// jobSignals are passed on as well once the program runs.
var jobSignals = []os.Signal{unix.SIGWINCH, unix.SIGCONT, unix.SIGTSTP}

// catch notifies c of the signals, except those that this process was told to ignore, as by nohup: the program must
// ignore them, too.
func catch(c chan os.Signal, signals []os.Signal) {
	for _, s := range signals {
		if !signal.Ignored(s) {
			signal.Notify(c, s)
		}
	}
}

// pendingSignal returns a signal that came before the program was started and that would have ended it, or 0.
func pendingSignal(c <-chan os.Signal) unix.Signal {
	for {
		select {
		case s := <-c:
			if slices.Contains(endingSignals, s) {
				return s.(unix.Signal)
			}
		default:
			return 0
		}
	}
}

// interruptible returns a context that INT and TERM end, unless this process was told to ignore them, as a shell does
// with INT for background jobs of a script. The function that it returns stops catching, and returns the signal that
// came, or 0.
func interruptible(parent context.Context) (context.Context, func() unix.Signal) {
	ctx, cancel := context.WithCancel(parent)
	c := make(chan os.Signal, 1)
	catch(c, []os.Signal{unix.SIGINT, unix.SIGTERM})
	came := make(chan unix.Signal, 1)
	go func() {
		defer close(came)
		select {
		case s := <-c:
			came <- s.(unix.Signal)
			cancel()
		case <-ctx.Done():
		}
	}()
	return ctx, func() unix.Signal {
		signal.Stop(c)
		cancel()
		return <-came
	}
}
