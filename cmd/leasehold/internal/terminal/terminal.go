//go:build unix

// Package terminal lends the terminal to another process group and takes it back.
package terminal

import (
	"errors"
	"os"
	"os/signal"

	"golang.org/x/sys/unix"
)

// Terminal is the terminal that controls this process. The nil Terminal stands for none: its
// methods do nothing and answer false. It is for one goroutine.
type Terminal struct {
	fd    int
	own   int // this process's group
	modes *unix.Termios
	lent  bool
}

// Open returns the terminal that controls this process, or nil. It remembers the terminal's modes, for Reclaim.
func Open() *Terminal {
	fd, err := unix.Open("/dev/tty", unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil
	}
	t := &Terminal{fd: fd, own: unix.Getpgrp()}
	if modes, err := unix.IoctlGetTermios(fd, getModes); err == nil {
		t.modes = modes
	}
	return t
}

// IsTerminal reports whether f is a terminal.
func IsTerminal(f *os.File) bool {
	_, err := unix.IoctlGetTermios(int(f.Fd()), getModes)
	return err == nil
}

// Mine reports whether this process's group is in the foreground.
func (t *Terminal) Mine() bool { return t != nil && t.HeldBy(t.own) }

// HeldBy reports whether the group is in the foreground.
func (t *Terminal) HeldBy(group int) bool {
	holder, known := t.holder()
	return known && holder == group
}

// holder returns the group in the foreground.
func (t *Terminal) holder() (group int, known bool) {
	if t == nil {
		return 0, false
	}
	group, err := unix.IoctlGetInt(t.fd, unix.TIOCGPGRP)
	return group, err == nil
}

// Lend puts another group into the foreground if this process's is there, and reports
// whether it did.
//
// From then on this process ignores SIGTTOU, with which the kernel would stop it for writing
// a message, or for taking the terminal back. Programs that it starts later inherit that.
func (t *Terminal) Lend(group int) bool {
	if !t.Mine() {
		return false
	}
	signal.Ignore(unix.SIGTTOU)
	t.lent = unix.IoctlSetPointerInt(t.fd, unix.TIOCSPGRP, group) == nil
	return t.lent
}

// Lent reports whether the terminal has ever been lent.
func (t *Terminal) Lent() bool { return t != nil && t.lent }

// TakeBack puts this process's group into the foreground again if a group that the terminal was
// lent to, or one that has ended, is there, and reports whether it did. A terminal
// that a shell has taken meanwhile stays with the shell.
func (t *Terminal) TakeBack(group int) bool {
	holder, known := t.holder()
	if !known || !t.lent || holder != group && !errors.Is(unix.Kill(-holder, 0), unix.ESRCH) {
		return false
	}
	return unix.IoctlSetPointerInt(t.fd, unix.TIOCSPGRP, t.own) == nil
}

// Reclaim does what TakeBack does after a program that was killed, and so could not tidy up: it also takes the terminal from
// another group that the program, or what that has started, has put there, and sets its modes to what
// they were when it was opened.
func (t *Terminal) Reclaim(group int) {
	took := t.TakeBack(group)
	if holder, known := t.holder(); !took && known && t.lent && descends(holder) {
		took = unix.IoctlSetPointerInt(t.fd, unix.TIOCSPGRP, t.own) == nil
	}
	if took && t.modes != nil {
		// Nothing can be done about a failure, and it is about looks.
		_ = unix.IoctlSetTermios(t.fd, setModes, t.modes)
	}
}

// Close closes the terminal.
func (t *Terminal) Close() {
	if t != nil {
		_ = unix.Close(t.fd) // nothing was written
	}
}
