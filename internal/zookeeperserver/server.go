package zookeeperserver

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"github.com/leasehold-go/leasehold/internal/ports"
	"github.com/leasehold-go/leasehold/internal/process"
)

// Server is a ZooKeeper server in a process of its own, with a folder and ports of its own. Many goroutines may use it.
type Server struct {
	dir     string
	program program
	ports   member

	mu     sync.Mutex       // held while the process is started or ended
	run    *process.Process // the last one
	paused bool             // it was told to stop, and not yet to go on
	closed bool
}

// Start starts a server that is alone, and waits until it answers. Close ends it. It dies with this process in any case, on Linux. If
// ZooKeeper or Java is missing, the error is ErrMissing.
func Start(c Config) (*Server, error) {
	own, err := reserve()
	if err != nil {
		return nil, err
	}
	s, err := prepare(c, 1, own, nil)
	if err != nil {
		own.release()
		return nil, err
	}
	if err := errors.Join(s.launch(), s.AwaitServing()); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// prepare makes the folder of a server. The ports belong to the server from then on.
func prepare(c Config, id int, own member, members []member) (*Server, error) {
	p, err := find(os.Getenv(Env))
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "zookeeper-")
	if err != nil {
		return nil, err
	}
	data := filepath.Join(dir, dataFolder)
	err = errors.Join(
		os.Mkdir(data, 0o700),
		os.WriteFile(filepath.Join(dir, configFile), []byte(c.text(dir, own, members)), 0o600),
		os.WriteFile(filepath.Join(dir, logbackXML), []byte(logback), 0o600),
		os.WriteFile(filepath.Join(data, idFile), []byte(strconv.Itoa(id)), 0o600),
	)
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	return &Server{dir: dir, program: p, ports: own}, nil
}

// launch starts the process, and does not wait until it answers.
func (s *Server) launch() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.closed:
		return fmt.Errorf("zookeeperserver: the server at %s is closed: start a new one", s.Addr())
	case s.running():
		return fmt.Errorf("zookeeperserver: the server at %s runs: call Kill before Restart", s.Addr())
	}
	log, err := os.OpenFile(s.logFile(), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer log.Close() // the process has its own
	cmd := exec.Command(s.program.java, s.program.arguments(s.dir)...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = s.dir, log, log
	run, err := process.Start(cmd)
	if err != nil {
		return err
	}
	s.run, s.paused = run, false
	return nil
}

// AwaitServing waits until the server serves clients: it is alone, or has a leader, or is one. It waits no longer than Patience.
func (s *Server) AwaitServing() error {
	s.mu.Lock()
	run := s.run
	s.mu.Unlock()
	err := await("the server at "+s.Addr()+" serves clients", func() error {
		if run == nil || run.Ended() {
			return fatal{errors.New("zookeeperserver: the server at " + s.Addr() + " has ended")}
		}
		_, err := s.Role()
		return err
	})
	if err != nil {
		return fmt.Errorf("%w\nits log ends with:\n%s", err, s.Log())
	}
	return nil
}

// Close kills the server and removes its folder. Closing it again does nothing.
func (s *Server) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil
	}
	s.closed = true
	s.kill()
	s.ports.release()
	return os.RemoveAll(s.dir)
}

// Addr returns the address for clients, such as "127.0.0.1:12345". It stays the same over restarts.
func (s *Server) Addr() string { return ports.Address(s.ports.client) }

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

// Patience is how long everything here waits that depends on a server: for its start, for an election. It is long, as machines that run tests are
// slow at times.
const Patience = 2 * time.Minute

// beat is the time between two looks at a server.
const beat = 10 * time.Millisecond

// await asks until nothing is missing, and for no longer than Patience. It looks at least once.
func await(what string, missing func() error) error {
	for began := time.Now(); ; <-time.After(beat) {
		err := missing()
		if err == nil {
			return nil
		}
		if last, ok := errors.AsType[fatal](err); ok {
			return last.error
		}
		if time.Since(began) > Patience {
			return fmt.Errorf("zookeeperserver: waited %v until %s: %w", Patience, what, err)
		}
	}
}

// fatal is an error that waiting does not mend.
type fatal struct{ error }
