//go:build unix

// Package terminal lends the terminal to another process group and takes it back.
package terminal

import (
	"errors"
	"os"
	"os/signal"

	"golang.org/x/sys/unix"
)

// Terminal is the controlling terminal of this process. It is for one goroutine. A nil Terminal stands for none: its
// methods do nothing and report false.
type Terminal struct {
	fd    int
	own   int // this process's group
	modes *unix.Termios
	lent  bool
}

// Open returns the controlling terminal of this process, or nil. It remembers the terminal's modes, for Reclaim.
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

// IsForeground reports whether this process's group is in the foreground.
func (t *Terminal) IsForeground() bool { return t != nil && t.IsHeldBy(t.own) }

// IsHeldBy reports whether the group is in the foreground.
func (t *Terminal) IsHeldBy(group int) bool {
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

// Lend moves another group into the foreground if this process's group is there, and reports whether it did.
//
// From then on this process ignores SIGTTOU, with which the kernel would stop it when it writes a message or takes the
// terminal back. Programs that it starts later inherit that.
func (t *Terminal) Lend(group int) bool {
	if !t.IsForeground() {
		return false
	}
	signal.Ignore(unix.SIGTTOU)
	t.lent = unix.IoctlSetPointerInt(t.fd, unix.TIOCSPGRP, group) == nil
	return t.lent
}

// WasLent reports whether the terminal was ever lent.
func (t *Terminal) WasLent() bool { return t != nil && t.lent }

// TakeBack moves this process's group into the foreground, and reports whether it did. It does so only if the group
// that the terminal was lent to, or one that has ended, is there: a terminal that a shell has taken meanwhile stays
// with the shell.
func (t *Terminal) TakeBack(group int) bool {
	holder, known := t.holder()
	if !known || !t.lent || holder != group && !errors.Is(unix.Kill(-holder, 0), unix.ESRCH) {
		return false
	}
	return unix.IoctlSetPointerInt(t.fd, unix.TIOCSPGRP, t.own) == nil
}

// Reclaim is TakeBack after a program that was killed and so could not clean up. It also takes the terminal from
// another group that the program or its descendants have moved to the foreground, and restores the modes that the
// terminal had when it was opened.
func (t *Terminal) Reclaim(group int) {
	took := t.TakeBack(group)
	if holder, known := t.holder(); !took && known && t.lent && isDescendant(holder) {
		took = unix.IoctlSetPointerInt(t.fd, unix.TIOCSPGRP, t.own) == nil
	}
	if took && t.modes != nil {
		// A failure affects only how the terminal looks, and nothing can be done about it.
		_ = unix.IoctlSetTermios(t.fd, setModes, t.modes)
	}
}

// Close closes the terminal.
func (t *Terminal) Close() {
	if t != nil {
		_ = unix.Close(t.fd) // nothing was written
	}
}
