//go:build unix

// Package processgroup runs a program in a process group of its own, and reports how the program and the group end.
//
// The terminal and a lost lock act on the whole group. It includes whatever the program starts, unless that leaves the
// group on purpose.
package processgroup

import (
	"errors"
	"os"
	"os/signal"

	"golang.org/x/sys/unix"
)

// Group is a running program and its process group. It is for one goroutine. A process can have only one Group, since a
// Group reaps all children of the process.
type Group struct {
	id      int
	changed chan os.Signal
	exited  bool
	status  unix.WaitStatus
}

// Start runs the program at path, with this process's standard input, output and error, and any other inherited files.
//
// Where the kernel can do so (Linux), the program is killed when this process ends. That is tied to the calling thread,
// which must therefore be the main one: see runtime.LockOSThread.
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

// ID returns the number of the group, which is the process number of the program.
func (g *Group) ID() int { return g.id }

// Changed receives after a child of this process has stopped or ended. Call Reap then.
func (g *Group) Changed() <-chan os.Signal { return g.changed }

// Signal sends sig to every process of the group. It fails with EPERM if this user may signal none of the processes.
func (g *Group) Signal(sig unix.Signal) error {
	err := unix.Kill(-g.id, sig)
	if errors.Is(err, unix.ESRCH) {
		return nil // the group has ended
	}
	return err
}

// Reap collects the state of children without waiting. If the program was stopped since the last call, it returns the
// signal that has stopped it, and 0 otherwise.
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

// Exited returns how the program ended, and whether it has ended, as of the last Reap.
func (g *Group) Exited() (unix.WaitStatus, bool) { return g.status, g.exited }

// HasEnded reports whether no process of the group is left. On Linux this is certain, since orphans of the group become
// children of this process, which reaps them.
func (g *Group) HasEnded() bool {
	return g.exited && errors.Is(unix.Kill(-g.id, 0), unix.ESRCH)
}

// Close stops sending to Changed.
func (g *Group) Close() { signal.Stop(g.changed) }
