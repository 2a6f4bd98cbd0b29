package process

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
)

// Server is a program that can be killed and started again. It works and logs in its own folder.
// The packages that start servers embed it, and give it the command to start. It is safe for
// concurrent use.
type Server struct {
	name    string
	dir     string
	release func()

	mu     sync.Mutex // held while the program is started or ended
	run    *Process   // the last one; nil if there was none
	paused bool       // it was stopped, and not yet resumed
	closed bool
}

// NewServer makes a server that does not run yet. Its new folder is named as for [os.MkdirTemp].
// name identifies the server in all errors, such as "redisserver: the server at 127.0.0.1:12345".
// Close calls release, which releases the ports of the server; so does NewServer if it fails.
func NewServer(name, parent, pattern string, release func()) (*Server, error) {
	dir, err := os.MkdirTemp(parent, pattern)
	if err != nil {
		release()
		return nil, err
	}
	return &Server{name: name, dir: dir, release: release}, nil
}

// Launch starts the program, which must not be running, in the folder of the server. It does not
// wait until the program answers: see Await. The output is appended to the log, but for standard
// output if cmd.Stdout says where it goes. A caller that gives up kills the returned run, and not
// the server, which may be in another run by then.
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
	defer log.Close() // the process has its own copy
	cmd.Dir, cmd.Stderr = s.dir, log
	if cmd.Stdout == nil {
		cmd.Stdout = log
	}
	run, err := Start(cmd)
	if err != nil {
		return nil, err
	}
	s.run, s.paused = run, false
	return run, nil
}

// Close kills the server and removes its folder. If that fails, another Close tries again;
// otherwise another Close does nothing.
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

// String returns the name of the server that errors show.
func (s *Server) String() string { return s.name }

// Dir returns the folder of the server. It stays the same over restarts, until Close.
func (s *Server) Dir() string { return s.dir }

// logTail is how much of the log is shown.
const logTail = 4 << 10

// Log returns the end of the log of all runs, up to 4 KiB, for error messages.
func (s *Server) Log() string {
	log, err := os.ReadFile(s.logFile())
	if err != nil {
		return err.Error()
	}
	return string(log[max(0, len(log)-logTail):])
}

func (s *Server) logFile() string { return filepath.Join(s.dir, "log") }
