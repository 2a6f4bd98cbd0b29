package postgresserver

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/leasehold-go/leasehold/internal/process"
)

// Patience is how long a start may take, and an end.
const Patience = 30 * time.Second

// Server is a PostgreSQL server with a folder of its own. Many goroutines may use it.
type Server struct {
	dir     string
	process *process.Process // nil if it was not started
}

// settings make it fast, and seen from this machine only.
var settings = []string{
	"-c", "listen_addresses=",
	"-c", "fsync=off",
	"-c", "synchronous_commit=off",
	"-c", "full_page_writes=off",
	"-c", "max_connections=100",
	"-c", "shared_buffers=16MB",
	"-c", "autovacuum=off",
}

// Start makes a database and starts a server on it. If PostgreSQL is missing, the error is ErrMissing.
func Start() (*Server, error) {
	initdb, err := find("initdb")
	if err != nil {
		return nil, err
	}
	postgres, err := find("postgres")
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "postgres-")
	if err != nil {
		return nil, err
	}
	s := &Server{dir: dir}
	if err := s.start(initdb, postgres); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

func (s *Server) start(initdb, postgres string) error {
	user, err := unprivileged(s.dir)
	if err != nil {
		return err
	}
	create := exec.Command(initdb, "--pgdata", s.data(), "--username", "postgres", "--auth", "trust", "--encoding", "UTF8", "--locale", "C", "--no-sync", "--no-instructions")
	create.Dir, create.SysProcAttr = s.dir, user()
	if out, err := create.CombinedOutput(); err != nil {
		return fmt.Errorf("postgresserver: %s: %w\n%s", initdb, err, out)
	}
	log, err := os.Create(s.logFile())
	if err != nil {
		return err
	}
	defer log.Close() // the process has its own
	cmd := exec.Command(postgres, append([]string{"-D", s.data(), "-k", s.dir}, settings...)...)
	cmd.Dir, cmd.Stdout, cmd.Stderr, cmd.SysProcAttr = s.dir, log, log, user()
	if s.process, err = process.Start(cmd); err != nil {
		return err
	}
	return s.awaitReady()
}

// awaitReady waits for the word with which pg_ctl is content, too: see the lines of postmaster.pid at
// https://www.postgresql.org/docs/current/storage-file-layout.html.
func (s *Server) awaitReady() error {
	late := time.After(Patience)
	for {
		if text, err := os.ReadFile(filepath.Join(s.data(), "postmaster.pid")); err == nil {
			if lines := bytes.Split(text, []byte("\n")); len(lines) > 7 && bytes.HasPrefix(lines[7], []byte("ready")) {
				return nil
			}
		}
		select {
		case <-s.process.Done():
			return fmt.Errorf("postgresserver: the server ended at once; its log ends with:\n%s", s.Log())
		case <-late:
			return fmt.Errorf("postgresserver: the server is not ready after %v; its log ends with:\n%s", Patience, s.Log())
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// Close ends the server and removes its folder. Closing it again does nothing.
func (s *Server) Close() error {
	if s.process != nil {
		if err := s.process.Signal(quit); err != nil && !errors.Is(err, os.ErrProcessDone) {
			return err
		}
		select {
		case <-s.process.Done():
		case <-time.After(Patience):
			s.process.Kill() // its children notice
		}
	}
	return os.RemoveAll(s.dir)
}

// DSN returns what a driver of PostgreSQL needs to connect.
func (s *Server) DSN() string {
	return "host=" + s.dir + " user=postgres dbname=postgres sslmode=disable"
}

// logTail is how much of the log is shown.
const logTail = 4 << 10

// Log returns the end of the log, up to 4 KiB.
func (s *Server) Log() string {
	log, err := os.ReadFile(s.logFile())
	if err != nil {
		return err.Error()
	}
	return string(log[max(0, len(log)-logTail):])
}

func (s *Server) data() string { return filepath.Join(s.dir, "data") }

func (s *Server) logFile() string { return filepath.Join(s.dir, "log") }
