package redisserver

import (
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/leasehold-go/leasehold/internal/ports"
	"github.com/leasehold-go/leasehold/internal/process"
)

// ErrMissing means that there is no Redis on this machine.
var ErrMissing = errors.New("redisserver: redis-server is missing: install it (on Debian: apt-get install redis-server), or put its folder into PATH")

// busOffset is how far behind its port a node of a cluster listens for the other nodes.
const busOffset = 10_000

// Server is a Redis server in a process of its own, with a folder and a port of its own. Many goroutines may use it.
type Server struct {
	dir      string
	port     int
	password string
	program  string
	args     []string
	env      []string

	mu       sync.Mutex       // held while the process is started or ended
	run      *process.Process // the last one
	paused   bool             // it was told to stop, and not yet to go on
	reserved bool             // the port is ours
}

// Start starts a server with a folder and a port of its own, and waits until it answers. Close ends it. It dies with
// this process in any case, on Linux. If Redis is missing, the error is ErrMissing.
func Start(c Config) (*Server, error) { return start(c) }

// portRetries is how often another process may take a port between our look and the start of the server.
const portRetries = 5

// start is Start with more lines of redis.conf, which those of the config override.
func start(c Config, more ...string) (*Server, error) {
	return startWith(c, nil, func(port int) string { return c.text(port, more...) })
}

// startWith starts a server with arguments after its redis.conf, whose text depends on the port.
func startWith(c Config, args []string, text func(port int) string) (*Server, error) {
	program := c.Program
	if program == "" {
		program = "redis-server"
	}
	program, err := exec.LookPath(program)
	if err != nil {
		return nil, fmt.Errorf("%w (%w)", ErrMissing, err)
	}
	dir, err := os.MkdirTemp("", "redis-")
	if err != nil {
		return nil, err
	}
	conf := filepath.Join(dir, "redis.conf")
	s := &Server{dir: dir, password: c.Password, program: program, env: c.Env, args: append([]string{conf}, args...)}
	for range portRetries {
		if s.port, err = ports.Reserve(busOffset); err != nil {
			break
		}
		s.reserved = true
		if err = os.WriteFile(conf, []byte(text(s.port)), 0o600); err != nil {
			break
		}
		if err = s.launch(ready); err == nil {
			return s, nil
		}
		if !strings.Contains(s.Log(), "Address already in use") {
			break
		}
		s.releasePort()
	}
	return nil, errors.Join(err, s.Close())
}

// launch starts the process and waits until it answers a PING as wanted.
func (s *Server) launch(wanted func(error) bool) error {
	log, err := os.OpenFile(s.logFile(), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer log.Close() // the process has its own
	cmd := exec.Command(s.program, s.args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = s.dir, log, log
	cmd.Env = append(os.Environ(), s.env...)
	run, err := process.Start(cmd)
	if err != nil {
		return err
	}
	s.run, s.paused = run, false
	err = s.awaitAnswer(run, wanted)
	if err != nil {
		run.Kill()
		return fmt.Errorf("%w\nits log ends with:\n%s", err, s.Log())
	}
	return nil
}

// startBeat is how long one PING waits for an answer. Somebody else may have the port, and say nothing.
const startBeat = 500 * time.Millisecond

// awaitAnswer waits until a run of the server answers a PING as wanted.
func (s *Server) awaitAnswer(run *process.Process, wanted func(error) bool) error {
	ended := false
	err := await("the server at "+s.Addr()+" answers", func() error {
		if ended = run.Ended(); ended {
			return nil
		}
		_, err := s.command(startBeat, "PING")
		if wanted(err) {
			return nil
		}
		return err
	})
	if ended {
		return fmt.Errorf("redisserver: the server at %s ended at once", s.Addr())
	}
	return err
}

// answers reports whether the outcome of a command shows that the server is there.
func answers(err error) bool {
	_, replied := errors.AsType[ReplyError](err)
	return err == nil || replied
}

// ready reports whether the outcome of a command shows that the server has loaded its data. Other errors, such
// as NOAUTH, are how it is meant to be.
func ready(err error) bool {
	e, _ := errors.AsType[ReplyError](err)
	return answers(err) && e.Code() != "LOADING"
}

// Close kills the server and removes its folder. Closing it again does nothing.
func (s *Server) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.kill()
	s.releasePort()
	return os.RemoveAll(s.dir)
}

func (s *Server) releasePort() {
	if s.reserved {
		ports.Release(s.port)
		s.reserved = false
	}
}

// Addr returns the address, such as "127.0.0.1:12345". It stays the same over restarts.
func (s *Server) Addr() string { return ports.Address(s.port) }

// URL returns the address as a URL with the password, such as "redis://:secret@127.0.0.1:12345".
func (s *Server) URL() string {
	u := url.URL{Scheme: "redis", Host: s.Addr()}
	if s.password != "" {
		u.User = url.UserPassword("", s.password)
	}
	return u.String()
}

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
