//go:build unix

package docs

import (
	"os"
	"os/exec"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/creack/pty"
)

// patience is how long a block of commands may take.
const patience = 2 * time.Minute

// terminal is a terminal on which a command runs.
type terminal struct {
	t       *testing.T
	file    *os.File
	command *exec.Cmd
	more    chan struct{} // receives when there may be more output; closed after the last of it

	mu     sync.Mutex
	output strings.Builder
}

// startOnTerminal starts a command on a terminal of its own. It is ended with the test, or after patience.
func startOnTerminal(t *testing.T, c *exec.Cmd) *terminal {
	t.Helper()
	file, err := pty.StartWithSize(c, &pty.Winsize{Rows: 50, Cols: 160})
	if err != nil {
		t.Fatal(err)
	}
	s := &terminal{t: t, file: file, command: c, more: make(chan struct{}, 1)}
	stop := func() {
		_ = c.Process.Kill()
		file.Close() // sends SIGHUP to whatever it has started
	}
	limit := time.AfterFunc(patience, stop)
	t.Cleanup(func() {
		limit.Stop()
		stop()
	})
	go s.read()
	return s
}

func (s *terminal) read() {
	defer close(s.more)
	buffer := make([]byte, 4096)
	for {
		n, err := s.file.Read(buffer)
		s.mu.Lock()
		s.output.Write(buffer[:n])
		s.mu.Unlock()
		if err != nil { // EIO, when the last process on the terminal has ended
			return
		}
		select {
		case s.more <- struct{}{}:
		default:
		}
	}
}

// shown returns the output until now.
func (s *terminal) shown() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return strings.ReplaceAll(s.output.String(), "\r\n", "\n")
}

// await waits until the output matches.
func (s *terminal) await(want *regexp.Regexp) {
	s.t.Helper()
	for !want.MatchString(s.shown()) {
		if _, ok := <-s.more; !ok {
			if want.MatchString(s.shown()) {
				return
			}
			s.t.Fatalf("it has ended without %q:\n%s", want, s.shown())
		}
	}
}

// enter types a text.
func (s *terminal) enter(text string) {
	s.t.Helper()
	if _, err := s.file.WriteString(text); err != nil {
		s.t.Fatal(err)
	}
}

// end waits for the end of the command, and returns its exit code (-1 if a signal has ended it) and all output.
func (s *terminal) end() (code int, output string) {
	s.t.Helper()
	_ = s.command.Wait() // the code says it
	for range s.more {   // until the terminal has been read to its end
	}
	return s.command.ProcessState.ExitCode(), s.shown()
}
