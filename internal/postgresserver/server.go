package postgresserver

import (
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

// Patience is how long a start, an end or a query may take.
const Patience = 30 * time.Second

// Server is a PostgreSQL server with a folder of its own. It is safe for concurrent use.
type Server struct {
	first    *process.Server // its first process, which starts the others; also its folder and its log
	postgres string          // the program
	port     int             // 0: it listens on the socket only
	config   Config
	user     func() *syscall.SysProcAttr

	templated bool // it is counted as a user of the template

	mu sync.Mutex // held while processes are started, ended, paused or resumed
}

// Start creates a database and starts a server on it. If PostgreSQL is not installed, the error is ErrMissing.
func Start() (*Server, error) { return StartWith(Config{}) }

// StartWith is Start with a configuration.
func StartWith(c Config) (*Server, error) { return start(c, (*Server).copyTemplate) }

// start starts a server in a new folder, which fill fills with data.
func start(c Config, fill func(*Server) error) (s *Server, err error) {
	postgres, err := find("postgres")
	if err != nil {
		return nil, err
	}
	err = ports.Retry(func() error {
		s, err = startOnce(postgres, c, fill)
		return err
	})
	return s, err
}

func startOnce(postgres string, c Config, fill func(*Server) error) (_ *Server, err error) {
	s := &Server{postgres: postgres, config: c}
	if c.TCP {
		if s.port, err = ports.Reserve(); err != nil {
			return nil, err
		}
	}
	if s.first, err = process.NewServer("postgresserver: the server", "", "postgres-", s.release); err != nil {
		return nil, err
	}
	if s.user, err = unprivileged(s.first.Dir()); err == nil {
		err = fill(s)
	}
	if err == nil {
		err = s.launch()
	}
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// release gives back what the server shares with others.
func (s *Server) release() {
	ports.Release(s.port)
	s.leaveTemplate()
}

// tool runs a program that comes with the server, as the server's user.
func (s *Server) tool(name string, args ...string) error {
	program, err := s.beside(name)
	if err != nil {
		return err
	}
	return s.run(program, args...)
}

// run runs a program to its end, as the server's user.
func (s *Server) run(program string, args ...string) error {
	cmd := exec.Command(program, args...)
	cmd.Dir, cmd.SysProcAttr = s.first.Dir(), s.user()
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("postgresserver: %s: %w\n%s", program, err, out)
	}
	return nil
}

// launch starts the process and waits until it answers.
func (s *Server) launch() error {
	cmd := exec.Command(s.postgres, s.arguments()...)
	cmd.Env = append(os.Environ(), s.config.Env...)
	cmd.SysProcAttr = s.user()
	run, err := s.first.Launch(cmd)
	if err != nil {
		return err
	}
	return s.first.Await(run, Patience, "it is ready", s.notReady)
}

// notReady looks for the word that pg_ctl looks for, too: see the lines of postmaster.pid at
// https://www.postgresql.org/docs/current/storage-file-layout.html.
func (s *Server) notReady() error {
	text, err := os.ReadFile(filepath.Join(s.data(), "postmaster.pid"))
	if err != nil {
		return err
	}
	mine := strconv.Itoa(s.first.PID()) // the file may be left from an earlier run
	if lines := strings.Split(string(text), "\n"); len(lines) < 8 || lines[0] != mine ||
		!strings.HasPrefix(lines[7], "ready") {
		return fmt.Errorf("its postmaster.pid is %q", text)
	}
	return nil
}

// Close ends the server and removes its folder. Closing it again does nothing.
func (s *Server) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.killLocked(); err != nil {
		return err
	}
	return s.first.Close()
}

// DSN returns the connection string for the socket.
func (s *Server) DSN() string {
	dsn := "host=" + s.first.Dir() + " user=postgres dbname=postgres sslmode=disable"
	if s.port != 0 {
		dsn += " port=" + s.portText()
	}
	return dsn
}

// Addr returns the address, such as "127.0.0.1:12345", which stays the same when the server restarts. It returns "" if
// the server listens on the socket only.
func (s *Server) Addr() string {
	if s.port == 0 {
		return ""
	}
	return ports.Address(s.port)
}

// URL returns the URL of the database, such as "postgres://postgres@127.0.0.1:12345/postgres?sslmode=disable". Without
// TCP it is that of the socket.
func (s *Server) URL() string {
	if s.port == 0 {
		return "postgres://postgres@/postgres?sslmode=disable&host=" + s.first.Dir()
	}
	return "postgres://postgres@" + s.Addr() + "/postgres?sslmode=disable"
}

// String returns the name of the server in errors.
func (s *Server) String() string { return s.first.String() }

// Log returns the end of the log of all runs, up to 4 KiB.
func (s *Server) Log() string { return s.first.Log() }

func (s *Server) data() string { return filepath.Join(s.first.Dir(), "data") }

// portText is the port, which is also part of the name of the socket.
func (s *Server) portText() string {
	if s.port == 0 {
		return "5432"
	}
	return strconv.Itoa(s.port)
}
