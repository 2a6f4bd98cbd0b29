package process

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// serve makes a server whose program prints "here" the given number of times in all. launch starts
// it again.
func serve(t *testing.T) (s *Server, launch func(times int)) {
	t.Helper()
	s, err := NewServer("the echo", t.TempDir(), "echo-", func() {})
	noErr(t, err)
	t.Cleanup(func() { noErr(t, s.Close()) })
	return s, func(times int) {
		t.Helper()
		run, err := s.Launch(program("echo"))
		noErr(t, err)
		noErr(t, s.Await(run, patience, "it is here", func() error {
			if said := s.Log(); said != strings.Repeat("here\n", times) {
				return errors.New(said)
			}
			return nil
		}))
	}
}

// wantError expects an error that contains the name of the server, and some words.
func wantError(t *testing.T, err error, words ...string) {
	t.Helper()
	for _, w := range append(words, "the echo") {
		if err == nil || !strings.Contains(err.Error(), w) {
			t.Errorf("%v; want an error with %q", err, w)
		}
	}
}

func TestLifeOfAServer(t *testing.T) {
	t.Parallel()
	s, launch := serve(t)
	down := func() {
		t.Helper()
		s.Kill()
		noErr(t, s.Stop())
		if s.PID() != 0 || s.Run() != nil || s.Up() {
			t.Errorf("process %d runs, up: %v", s.PID(), s.Up())
		}
		wantError(t, s.Pause(), "call Restart")
		wantError(t, s.Resume(), "call Restart")
		wantError(t, s.Await(s.Run(), patience, "it answers", func() error { return nil }),
			"has ended before it answers", "its log ends with")
	}
	down()
	launch(1)
	pid := s.PID()
	_, err := s.Launch(program("echo"))
	wantError(t, err, "call Kill or Stop")
	if run := s.Run(); pid == 0 || run.Pid != pid || !s.Up() {
		t.Errorf("process %d, and not %d, up: %v", run.Pid, pid, s.Up())
	}
	noErr(t, s.Pause())
	if s.Up() || s.PID() != pid {
		t.Errorf("it is paused, up: %v, process %d", s.Up(), s.PID())
	}
	noErr(t, s.Resume())
	if !s.Up() {
		t.Error("it is not up after the pause")
	}
	noErr(t, s.Pause())
	s.Kill()
	down()
	launch(2)
	if !s.Up() || s.PID() == pid {
		t.Errorf("it is started again, up: %v, process %d after %d", s.Up(), s.PID(), pid)
	}
	noErr(t, s.Pause())
	noErr(t, s.Stop()) // stopping a paused server resumes it
	down()
}

// A failed wait says what it waited for, what is missing, and what the server has printed.
func TestAwait(t *testing.T) {
	t.Parallel()
	s, launch := serve(t)
	launch(1)
	missing := errors.New("a word is missing")
	asked := 0
	err := s.Await(s.Run(), 0, "it says all", func() error { asked++; return missing })
	wantError(t, err, "it says all: a word is missing", "its log ends with:\nhere")
	if asked == 0 || !errors.Is(err, missing) {
		t.Errorf("asked %d times, %v", asked, err)
	}
	wantError(t, s.Await(s.Run(), patience, "it answers", func() error { s.Kill(); return missing }),
		"has ended before it answers")
}

// A wait for a run returns when the run has ended, even if the server is in the next one, and ends
// no other run.
func TestARunThatHasEnded(t *testing.T) {
	t.Parallel()
	s, launch := serve(t)
	launch(1)
	first := s.Run()
	err := s.Await(first, patience, "it answers", func() error {
		s.Kill()
		launch(2)
		return errors.New("no answer")
	})
	wantError(t, err, "has ended before it answers")
	second := s.PID()
	first.Kill()
	if second == 0 || second == first.Pid || s.PID() != second || !s.Up() {
		t.Errorf("process %d runs; want %d, the one after %d", s.PID(), second, first.Pid)
	}
	asked := false
	wantError(t, s.Await(first, patience, "it answers", func() error { asked = true; return nil }),
		"has ended before it answers")
	if asked {
		t.Error("the next run was asked in its place")
	}
}

func TestLogIsShownInPart(t *testing.T) {
	t.Parallel()
	s, _ := serve(t)
	if said := s.Log(); !strings.Contains(said, "no such file") {
		t.Errorf("without a log it says %q", said)
	}
	noErr(t, os.WriteFile(filepath.Join(s.Dir(), "log"), []byte(strings.Repeat("x", 5000)+"end"), 0o600))
	if said := s.Log(); len(said) != 4<<10 || !strings.HasSuffix(said, "xend") {
		t.Errorf("%d bytes, the end of them %q", len(said), said[max(0, len(said)-10):])
	}
}

func TestCloseOfAServer(t *testing.T) {
	t.Parallel()
	released := 0
	if _, err := NewServer("the echo", "/no/such/folder", "echo-", func() { released++ }); err == nil || released != 1 {
		t.Errorf("%v, released %d times", err, released)
	}
	s, err := NewServer("the echo", t.TempDir(), "echo-", func() { released++ })
	noErr(t, err)
	_, err = s.Launch(program("echo"))
	noErr(t, err)
	noErr(t, s.Close())
	noErr(t, s.Close())
	if _, err := os.Stat(s.Dir()); !errors.Is(err, os.ErrNotExist) || s.PID() != 0 || released != 2 {
		t.Errorf("the folder: %v; process %d; released %d times", err, s.PID(), released)
	}
	_, err = s.Launch(program("echo"))
	wantError(t, err, "start a new one")
}

// Another Close removes what could not be removed, and repeats nothing else.
func TestCloseTriesAgain(t *testing.T) {
	t.Parallel()
	released := 0
	s, err := NewServer("the echo", t.TempDir(), "echo-", func() { released++ })
	noErr(t, err)
	dir := s.dir
	s.dir += "/." // no system removes such a path
	for range 2 {
		if s.Close() == nil {
			t.Error("Close does not tell what it leaves")
		}
	}
	s.dir = dir
	noErr(t, s.Close())
	if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) || released != 1 {
		t.Errorf("the folder: %v; released %d times", err, released)
	}
}
