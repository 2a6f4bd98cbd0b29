//go:build unix

package main

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// A standard error that nobody reads does not keep CMD waiting, and others with it, while the run holds the lock.
func TestBlockedMessagesKeepNoLock(t *testing.T) {
	t.Parallel()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer w.Close()
	fd := int(w.Fd())
	if err := unix.SetNonblock(fd, true); err != nil {
		t.Fatal(err)
	}
	for err == nil {
		_, err = unix.Write(fd, make([]byte, 1))
	}
	if !errors.Is(err, unix.EAGAIN) {
		t.Fatal(err)
	}
	if err := unix.SetNonblock(fd, false); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	m := newMachine(t)
	c := exec.CommandContext(ctx, binary, "run", "--verbose", "a", "--", "echo", "it ran")
	c.Env, c.Dir, c.Stderr = m.env, m.home, w
	if out, err := c.Output(); string(out) != "it ran\n" || err != nil {
		t.Errorf("%q, %v", out, err)
	}
	m.do("check", "a").want(t, 0)
}
