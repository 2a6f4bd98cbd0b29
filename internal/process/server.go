package process

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
)

// Server is a program that serves others and can be killed and started again, with a folder of its own, in which it works and has its log. The packages that
// start servers embed it, and give it the command to start. Many goroutines may use it.
type Server struct {
	name    string
	dir     string
	release func()

	mu     sync.Mutex // held while the program is started or ended
	run    *Process   // the last one; nil if there was none
	paused bool       // it was told to stop, and not yet to go on
	closed bool
}

// NewServer makes a server that does not run yet, with a new folder named as [os.MkdirTemp] has it. The server is called by its name in all errors,
// such as "redisserver: the server at 127.0.0.1:12345". Close calls release, which gives back the ports of the server; so does NewServer if it fails.
func NewServer(name, parent, pattern string, release func()) (*Server, error) {
	dir, err := os.MkdirTemp(parent, pattern)
	if err != nil {
		release()
		return nil, err
	}
	return &Server{name: name, dir: dir, release: release}, nil
}

// Launch starts the program, which must not run, in the folder of the server, and does not wait until it answers: see Await. What it prints is added to the
// log. Who gives up on the run ends that one, and not the server, which may be in another run by then.
func (s *Server) Launch(cmd *exec.Cmd) (*Process, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.closed:
		return nil, fmt.Errorf("%s is closed: start a new one", s.name)
	case s.running():
		return nil, fmt.Errorf("%s runs: call Kill or Stop before Restart", s.name)
	}
	log, err := os.OpenFile(s.logFile(), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	defer log.Close() // the process has its own
	cmd.Dir, cmd.Stdout, cmd.Stderr = s.dir, log, log
	run, err := Start(cmd)
	if err != nil {
		return nil, err
	}
	s.run, s.paused = run, false
	return run, nil
}

// Close kills the server and removes its folder. If that fails, closing it again tries once more; otherwise it does nothing.
func (s *Server) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closed {
		s.closed = true
		s.kill()
		s.release()
	}
	return os.RemoveAll(s.dir)
}

// String returns the name that errors have for the server.
func (s *Server) String() string { return s.name }

// Dir returns the folder that the server works in. It stays the same over restarts, until Close.
func (s *Server) Dir() string { return s.dir }

// logTail is how much of the log is shown.
const logTail = 4 << 10

// Log returns the end of the log of all runs, up to 4 KiB, for messages about failures.
func (s *Server) Log() string {
	log, err := os.ReadFile(s.logFile())
	if err != nil {
		return err.Error()
	}
	return string(log[max(0, len(log)-logTail):])
}

func (s *Server) logFile() string { return filepath.Join(s.dir, "log") }
