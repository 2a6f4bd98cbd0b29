//go:build unix

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/leasehold-go/leasehold/internal/needed"
	programs "github.com/leasehold-go/leasehold/internal/process"
)

// window is a terminal with a job-control shell, in a tmux of its own, so that tests can read its screen. $LH is the
// command.
type window struct {
	m      *machine
	socket string
}

// window opens a window of that size, and waits for the prompt.
func (m *machine) window(width, height string) *window {
	m.t.Helper()
	if _, err := exec.LookPath("tmux"); err != nil {
		if needed.Servers() {
			m.t.Fatal("tmux is not in PATH: install it (on Debian: apt-get install tmux)")
		}
		m.t.Skip("tmux is not in PATH")
	}
	// The path of a socket must be short.
	dir, err := os.MkdirTemp("", "tmux")
	if err != nil {
		m.t.Fatal(err)
	}
	w := &window{m: m, socket: filepath.Join(dir, "s")}
	server := exec.Command("tmux", "-S", w.socket, "-f", os.DevNull, "-u", "-D")
	m.env = append(m.env, "LH="+binary, "LC_ALL=C.UTF-8", "HISTFILE=")
	rc := filepath.Join(m.home, "bashrc")
	if err := os.WriteFile(rc, []byte("PS1='ready> '\n"), 0o600); err != nil {
		m.t.Fatal(err)
	}
	server.Env, server.Dir = m.env, m.home
	running, err := programs.Start(server)
	if err != nil {
		m.t.Fatal(err)
	}
	m.t.Cleanup(func() {
		if m.t.Failed() {
			m.t.Logf("the screen:\n%s", w.screen())
		}
		_ = w.client("kill-server").Run() // it tells the programs that the terminal is gone
		running.Kill()
		os.RemoveAll(dir)
	})
	m.until("tmux", func() bool {
		return w.client("new-session", "-d", "-c", m.home, "-x", width, "-y", height, "bash", "--rcfile",
			rc).Run() == nil
	})
	w.see("ready>")
	return w
}

// client returns a command for the tmux of this window. It never starts another tmux.
func (w *window) client(args ...string) *exec.Cmd {
	return exec.Command("tmux", append([]string{"-N", "-S", w.socket}, args...)...)
}

// tmux runs a tmux command.
func (w *window) tmux(args ...string) string {
	w.m.t.Helper()
	out, err := w.client(args...).CombinedOutput()
	if err != nil {
		w.m.t.Fatalf("tmux %q: %v: %s", args, err, out)
	}
	return string(out)
}

// screen returns what the screen shows.
func (w *window) screen() string {
	out, _ := w.client("capture-pane", "-p").Output() // an empty screen, if the terminal is gone
	return string(out)
}

// run types a line.
func (w *window) run(line string) {
	w.m.t.Helper()
	w.tmux("send-keys", "-l", line)
	w.press("Enter")
}

// press presses keys, by their names in tmux.
func (w *window) press(keys ...string) {
	w.m.t.Helper()
	w.tmux(append([]string{"send-keys"}, keys...)...)
}

// see waits until all of the texts are on the screen, and returns it.
func (w *window) see(texts ...string) string {
	w.m.t.Helper()
	return w.wait(strings.Join(texts, " and "), func(screen string) bool {
		for _, text := range texts {
			if !strings.Contains(screen, text) {
				return false
			}
		}
		return true
	})
}

// lose waits until a text is no longer on the screen.
func (w *window) lose(text string) string {
	w.m.t.Helper()
	return w.wait("a screen without "+text, func(screen string) bool { return !strings.Contains(screen, text) })
}

func (w *window) wait(what string, ok func(screen string) bool) (screen string) {
	w.m.t.Helper()
	w.m.until(what, func() bool {
		screen = w.screen()
		return ok(screen)
	})
	return screen
}

// plain waits until the terminal is in normal mode: the earlier screen, with a cursor.
func (w *window) plain() {
	w.m.t.Helper()
	w.m.until("a terminal as before", func() bool {
		return w.tmux("display-message", "-p",
			"#{alternate_on} #{cursor_flag} #{keypad_flag} #{wrap_flag}") == "0 1 0 1\n"
	})
}

// file waits for a file that has a line, and returns it.
func (m *machine) file(name string) (line string) {
	m.t.Helper()
	m.until("file "+name, func() bool {
		text, err := os.ReadFile(filepath.Join(m.home, name))
		var found bool
		line, _, found = strings.Cut(string(text), "\n")
		return err == nil && found
	})
	return line
}
