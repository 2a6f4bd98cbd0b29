//go:build unix

package cli

import (
	"context"
	"os"
	"os/signal"
	"slices"

	"golang.org/x/sys/unix"
)

// Signals that end a program which does not catch them. While a lock is waited for, they end
// the waiting.
var endings = []os.Signal{unix.SIGINT, unix.SIGTERM, unix.SIGHUP, unix.SIGQUIT, unix.SIGUSR1, unix.SIGUSR2}

// Signals that are passed on as well once there is a program to pass them on to.
var others = []os.Signal{unix.SIGWINCH, unix.SIGCONT, unix.SIGTSTP}

// catch has the signals sent to c, apart from those that this process was told to ignore, as by
// nohup: they are the program's to ignore, too.
func catch(c chan os.Signal, signals []os.Signal) {
	for _, s := range signals {
		if !signal.Ignored(s) {
			signal.Notify(c, s)
		}
	}
}

// pending returns a signal that came before there was a program to pass it on to, and that would
// have ended it, or 0.
func pending(c <-chan os.Signal) unix.Signal {
	for {
		select {
		case s := <-c:
			if slices.Contains(endings, s) {
				return s.(unix.Signal)
			}
		default:
			return 0
		}
	}
}

// interruptible returns a context that INT and TERM end, unless this process was told to ignore them, as a shell does with INT for what a script has
// running in the background. The function that it returns ends
// the catching, and says which signal came, if any.
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
