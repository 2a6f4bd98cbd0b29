package postgresserver

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/leasehold-go/leasehold/internal/ports"
	"github.com/leasehold-go/leasehold/internal/process"
)

// Patience is how long a start may take, and an end.
const Patience = 30 * time.Second

// Server is a PostgreSQL server with a folder of its own. Many goroutines may use it.
type Server struct {
	dir      string
	postgres string // the program
	port     int    // 0: it listens on the socket alone
	config   Config
	user     func() *syscall.SysProcAttr

	mu       sync.Mutex       // held while the process is started or ended
	run      *process.Process // the last one; nil if there was none
	reserved bool             // the port is ours
}

// Start makes a database and starts a server on it. If PostgreSQL is missing, the error is ErrMissing.
func Start() (*Server, error) { return StartWith(Config{}) }

// StartWith is Start for a server that is to be otherwise.
func StartWith(c Config) (*Server, error) {
	return start(c, func(s *Server) error {
		return s.tool("initdb", "--pgdata", s.data(), "--username", "postgres", "--auth", "trust", "--encoding", "UTF8", "--locale", "C", "--no-sync", "--no-instructions")
	})
}

// portRetries is how often another process may take a port between our look and the start of the server.
const portRetries = 5

// start starts a server in a new folder, in which fill puts the data.
func start(c Config, fill func(*Server) error) (*Server, error) {
	postgres, err := find("postgres")
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "postgres-")
	if err != nil {
		return nil, err
	}
	s := &Server{dir: dir, postgres: postgres, config: c}
	if s.user, err = unprivileged(dir); err == nil {
		err = fill(s)
	}
	if err == nil {
		err = s.firstRun()
	}
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

func (s *Server) firstRun() (err error) {
	if !s.config.TCP {
		return s.launch()
	}
	for range portRetries {
		if s.port, err = ports.Reserve(); err != nil {
			return err
		}
		s.reserved = true
		if err = s.launch(); err == nil || !strings.Contains(s.Log(), "Address already in use") {
			return err
		}
		ports.Release(s.port)
		s.reserved = false
	}
	return err
}

// tool runs a program that comes with the server, as the server's user.
func (s *Server) tool(name string, args ...string) error {
	program, err := s.beside(name)
	if err != nil {
		return err
	}
	cmd := exec.Command(program, args...)
	cmd.Dir, cmd.SysProcAttr = s.dir, s.user()
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("postgresserver: %s: %w\n%s", program, err, out)
	}
	return nil
}

// launch starts the process and waits until it answers.
func (s *Server) launch() error {
	log, err := os.OpenFile(s.logFile(), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer log.Close() // the process has its own
	cmd := exec.Command(s.postgres, s.arguments()...)
	cmd.Dir, cmd.Stdout, cmd.Stderr, cmd.SysProcAttr = s.dir, log, log, s.user()
	if s.run, err = process.Start(cmd); err != nil {
		return err
	}
	return s.awaitReady()
}

// awaitReady waits for the word with which pg_ctl is content, too: see the lines of postmaster.pid at
// https://www.postgresql.org/docs/current/storage-file-layout.html.
func (s *Server) awaitReady() error {
	mine := []byte(strconv.Itoa(s.run.Pid)) // the file may be that of a run before
	late := time.After(Patience)
	for {
		if text, err := os.ReadFile(filepath.Join(s.data(), "postmaster.pid")); err == nil {
			if lines := bytes.Split(text, []byte("\n")); len(lines) > 7 && bytes.Equal(lines[0], mine) && bytes.HasPrefix(lines[7], []byte("ready")) {
				return nil
			}
		}
		select {
		case <-s.run.Done():
			return fmt.Errorf("postgresserver: the server ended at once; its log ends with:\n%s", s.Log())
		case <-late:
			return fmt.Errorf("postgresserver: the server is not ready after %v; its log ends with:\n%s", Patience, s.Log())
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// Close ends the server and removes its folder. Closing it again does nothing.
func (s *Server) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.kill(); err != nil {
		return err
	}
	if s.reserved {
		ports.Release(s.port)
		s.reserved = false // it may be somebody else's from now on
	}
	return os.RemoveAll(s.dir)
}

// DSN returns what a driver of PostgreSQL needs to connect by the socket.
func (s *Server) DSN() string {
	dsn := "host=" + s.dir + " user=postgres dbname=postgres sslmode=disable"
	if s.port != 0 {
		dsn += " port=" + s.portText()
	}
	return dsn
}

// Addr returns the address, such as "127.0.0.1:12345", which stays the same over restarts, or "" if the server listens on the socket alone.
func (s *Server) Addr() string {
	if s.port == 0 {
		return ""
	}
	return ports.Address(s.port)
}

// URL returns the address as a URL of its database, such as "postgres://postgres@127.0.0.1:12345/postgres?sslmode=disable". Without TCP it leads to
// the socket.
func (s *Server) URL() string {
	if s.port == 0 {
		return "postgres://postgres@/postgres?sslmode=disable&host=" + s.dir
	}
	return "postgres://postgres@" + s.Addr() + "/postgres?sslmode=disable"
}

// logTail is how much of the log is shown.
const logTail = 4 << 10

// Log returns the end of the log of all runs, up to 4 KiB.
func (s *Server) Log() string { return tail(s.logFile()) }

func tail(file string) string {
	log, err := os.ReadFile(file)
	if err != nil {
		return err.Error()
	}
	return string(log[max(0, len(log)-logTail):])
}

func (s *Server) data() string { return filepath.Join(s.dir, "data") }

func (s *Server) logFile() string { return filepath.Join(s.dir, "log") }

// portText is the port, which names the socket, too.
func (s *Server) portText() string {
	if s.port == 0 {
		return "5432"
	}
	return strconv.Itoa(s.port)
}
