//go:build unix

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

func TestTokensGrow(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	last := 0
	for range 3 {
		r := m.do("run", "hello", "--", "sh", "-c", "echo token $LEASEHOLD_TOKEN").want(t, 0)
		token, err := strconv.Atoi(strings.TrimSpace(strings.TrimPrefix(r.out, "token ")))
		if err != nil || token <= last {
			t.Fatalf("after token %d came %q", last, r.out)
		}
		last = token
	}
}

func TestTwoShellsCount(t *testing.T) {
	t.Parallel()
	const each = 20
	m := newMachine(t)
	file := filepath.Join(m.home, "f")
	if err := os.WriteFile(file, []byte("0\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	var shells sync.WaitGroup
	// There is enough time between both steps that most counts would be lost without a lock.
	for range 2 {
		shells.Go(func() {
			for range each {
				r := m.do("run", "counter", "--", "sh", "-c", `read n < f; sleep 0.02; echo $((n+1)) > f`)
				if r.code != 0 || r.err != "" {
					t.Errorf("exit code %d, stderr %q", r.code, r.err)
					return
				}
			}
		})
	}
	shells.Wait()
	got, err := os.ReadFile(file)
	if err != nil || string(got) != fmt.Sprintln(2*each) {
		t.Fatalf("counted %q, want %d (%v)", got, 2*each, err)
	}
}

func TestExitCodes(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	noDir := "sqlite:" + filepath.Join(m.home, "no", "such", "folder", "locks.db")
	plain := filepath.Join(m.home, "plain")
	if err := os.WriteFile(plain, []byte("#!/bin/sh\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	holder := m.start("run", "taken", "--", "sh", "-c", "echo up; read x")
	holder.line()
	for _, c := range []struct {
		name string
		args []string
		code int
	}{
		{"success", []string{"run", "a", "--", "true"}, 0},
		{"without dashes", []string{"run", "a", "sh", "-c", "exit 3"}, 3},
		{"the child's own", []string{"run", "a", "--", "sh", "-c", "exit 42"}, 42},
		{"a code that means something here", []string{"run", "a", "--", "sh", "-c", "exit 75"}, 75},
		{"flags behind NAME belong to CMD", []string{"run", "a", "sh", "-c", `exit $#`, "sh", "-n", "--wait"}, 2},
		{"a signal", []string{"run", "a", "--", "sh", "-c", "kill -TERM $$"}, 143},
		{"another signal", []string{"run", "a", "--", "sh", "-c", "kill -KILL $$"}, 137},
		{"held", []string{"run", "-n", "taken", "--", "true"}, 75},
		{"held, wait 0", []string{"run", "-w", "0", "taken", "--", "true"}, 75},
		{"timed out", []string{"run", "-w", "5s", "taken", "--", "true"}, 75},
		{"timed out, seconds as in flock", []string{"run", "-w", "4.5", "taken", "--", "true"}, 75},
		{"held, with a code of one's own", []string{"run", "-n", "-E", "9", "taken", "--", "true"}, 9},
		{"timed out, with a code of one's own", []string{"run", "-w", "5s", "-E", "9", "taken", "--", "true"}, 9},
		{"held is fine", []string{"run", "-n", "--skip-ok", "taken", "--", "false"}, 0},
		{"a read lock while it is written", []string{"run", "-n", "-s", "taken", "--", "true"}, 75},
		{"a semaphore is something else", []string{"run", "-n", "--slots", "1", "taken", "--", "true"}, 0},
		{"engine cannot be opened", []string{"run", "--engine", noDir, "a", "--", "true"}, 69},
		{"found but no program", []string{"run", "a", "--", plain}, 126},
		{"a folder", []string{"run", "a", "--", m.home}, 126},
		{"not found", []string{"run", "a", "--", "no-such-program"}, 127},
		{"path not found", []string{"run", "a", "--", "./no-such-program"}, 127},
		{"memory", []string{"run", "--engine", "memory:", "a", "--", "true"}, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := m.do(c.args...).want(t, c.code)
			if r.out != "" {
				t.Errorf("said %q on standard output", r.out)
			}
			if c.code == 0 && r.err != "" {
				t.Errorf("said %q on standard error", r.err)
			}
		})
	}
}

func TestEnvironmentOfTheChild(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	m.env = append(m.env, "LEASEHOLD_NAME=outer", "OTHER=kept")
	before := time.Now()
	r := m.do("run", "--ttl", "7s", "the name", "--", "env").want(t, 0)
	after := time.Now()
	got := map[string]string{}
	for _, line := range strings.Split(strings.TrimSpace(r.out), "\n") {
		name, value, _ := strings.Cut(line, "=")
		if _, twice := got[name]; twice {
			t.Errorf("%s is set twice", name)
		}
		got[name] = value
	}
	if got["LEASEHOLD_NAME"] != "the name" || got["LEASEHOLD_TTL_MS"] != "7000" || got["LEASEHOLD_TOKEN"] != "1" ||
		got["OTHER"] != "kept" {
		t.Errorf("environment: %v", got)
	}
	deadline, err := strconv.ParseInt(got["LEASEHOLD_DEADLINE_UNIX_MS"], 10, 64)
	if at := time.UnixMilli(deadline); err != nil || at.Before(before) || at.After(after.Add(7*time.Second)) {
		t.Errorf("the deadline is %s after the start, and %s after the end", at.Sub(before), at.Sub(after))
	}
	var ours []string
	for name := range got {
		if strings.HasPrefix(name, "LEASEHOLD_") && name != "LEASEHOLD_ENGINE" {
			ours = append(ours, name)
		}
	}
	if len(ours) != 5 {
		t.Errorf("the child sees %v: more than is documented", slices.Sorted(slices.Values(ours)))
	}
	if want := `^\[\{"kind":"lock","name":"the name","token":1,"pid":[0-9]+\}\]$`; !regexp.MustCompile(
		want).MatchString(got["LEASEHOLD_HELD"]) {
		t.Errorf("LEASEHOLD_HELD is %s, want %s", got["LEASEHOLD_HELD"], want)
	}
}

func TestStreamsPassThrough(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	c := m.command("run", "a", "--", "sh", "-c", "cat; echo error >&2")
	c.Stdin = strings.NewReader("input")
	r := finish(t, c).want(t, 0)
	if r.out != "input" || r.err != "error\n" {
		t.Errorf("stdout %q, stderr %q", r.out, r.err)
	}
}

func TestSharedAndSlots(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	reader := m.start("run", "-s", "a", "--", "sh", "-c", "echo up; read x")
	reader.line()
	m.do("run", "-n", "-s", "a", "--", "true").want(t, 0)
	m.do("run", "-n", "a", "--", "true").want(t, 75)

	permit := m.start("run", "--slots", "2", "b", "--", "sh", "-c", "echo up; read x")
	permit.line()
	m.do("run", "-n", "--slots", "2", "b", "--", "true").want(t, 0)
	second := m.start("run", "--slots", "2", "b", "--", "sh", "-c", "echo up; read x")
	second.line()
	m.do("run", "-n", "--slots", "2", "b", "--", "true").want(t, 75)
}

func TestMinHoldKeepsTheLock(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	m.do("run", "--min-hold", "1h", "a", "--", "true").want(t, 0)
	m.do("run", "-n", "a", "--", "true").want(t, 75)
}

func TestWhatTheChildLeavesRunningIsNotTouched(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	fifo := filepath.Join(m.home, "fifo")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	p := m.start("run", "a", "--", "sh", "-c", `(read x < fifo; echo still here) & exit 4`)
	p.wait().want(t, 4)
	if err := os.WriteFile(fifo, []byte("go on\n"), 0); err != nil {
		t.Fatal(err)
	}
	if got := p.line(); got != "still here" {
		t.Errorf("the background process said %q", got)
	}
}
