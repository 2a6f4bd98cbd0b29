//go:build unix

// Package group runs a program in a process group of its own, and tells what becomes of
// the program and of the group.
//
// The group is what the terminal, and a lock that is lost, act on: whatever the program
// starts belongs to it, unless it leaves on purpose.
package group

import (
	"errors"
	"os"
	"os/signal"

	"golang.org/x/sys/unix"
)

// Group is a running program and its process group. It is for one goroutine. A process can
// have one Group, since a Group reaps all children of the process.
type Group struct {
	id      int
	changed chan os.Signal
	exited  bool
	status  unix.WaitStatus
}

// Start runs the program at path, with this process's standard input, output and error,
// and whatever other files were handed down to it.
//
// Where the kernel can do so (Linux), the program is killed when this process is. It is
// bound to the calling thread, which must therefore be the main one: see
// runtime.LockOSThread.
func Start(path string, argv, env []string) (*Group, error) {
	g := &Group{changed: make(chan os.Signal, 1)}
	signal.Notify(g.changed, unix.SIGCHLD) // before there is a child
	id, err := start(path, argv, env)
	if err != nil {
		signal.Stop(g.changed)
		return nil, err
	}
	g.id = id
	return g, nil
}

// ID returns the number of the group, which is the number of the program's process.
func (g *Group) ID() int { return g.id }

// Changed is sent to after a child of this process has stopped or ended: time to call
// Reap.
func (g *Group) Changed() <-chan os.Signal { return g.changed }

// Signal sends sig to every process of the group. It fails with EPERM if there are
// processes that this user may not signal, and none that it may.
func (g *Group) Signal(sig unix.Signal) error {
	err := unix.Kill(-g.id, sig)
	if errors.Is(err, unix.ESRCH) {
		return nil // nobody is left
	}
	return err
}

// Reap takes note of what has happened to children, without waiting. If the program was
// stopped since the last call, it returns the signal that stopped it, and else 0.
func (g *Group) Reap() (stopped unix.Signal) {
	for {
		var status unix.WaitStatus
		pid, err := unix.Wait4(-1, &status, unix.WNOHANG|unix.WUNTRACED, nil)
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case err != nil || pid <= 0:
			return stopped
		case pid != g.id: // an orphan of the group
		case status.Stopped():
			stopped = status.StopSignal()
		default:
			g.exited, g.status = true, status
		}
	}
}

// Exited reports how the program ended, and whether it has, as far as Reap knows.
func (g *Group) Exited() (unix.WaitStatus, bool) { return g.status, g.exited }

// Gone reports whether no process of the group is left, as far as can be told: on Linux
// surely, since orphans of the group become children of this process and are reaped by
// it.
func (g *Group) Gone() bool {
	return g.exited && errors.Is(unix.Kill(-g.id, 0), unix.ESRCH)
}

// Close ends the sending on Changed.
func (g *Group) Close() { signal.Stop(g.changed) }
