package redisserver

import (
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/leasehold-go/leasehold/internal/ports"
	"github.com/leasehold-go/leasehold/internal/process"
)

// ErrMissing means that Redis is not installed on this machine.
var ErrMissing = errors.New("redisserver: redis-server is missing: install it (on Debian: apt-get install " +
	"redis-server), or put its folder into PATH")

// busOffset is the distance between the port of a cluster node for clients and its port for other
// nodes.
const busOffset = 10_000

// Server is a Redis server in a process of its own, with its own folder and port. It is safe for
// concurrent use.
type Server struct {
	// Server is the process with its folder and log. Its methods PID, Up, Dir and Log describe it;
	// Kill, Stop, Pause, Resume and Close control it.
	*process.Server

	port     int
	password string
	program  string
	args     []string
	env      []string
}

// Start starts a server with its own folder and port, and waits until it answers. Close ends it; on
// Linux it also ends with this process. If Redis is missing, the error is ErrMissing.
func Start(c Config) (*Server, error) { return start(c) }

// start is Start with more lines of redis.conf. The config's own lines override them.
func start(c Config, more ...string) (*Server, error) {
	return startWith(c, nil, func(port int) string { return c.text(port, more...) })
}

// startWith starts a server with arguments after its redis.conf, whose text depends on the port.
func startWith(c Config, args []string, text func(port int) string) (s *Server, err error) {
	program := c.Program
	if program == "" {
		program = "redis-server"
	}
	if program, err = exec.LookPath(program); err != nil {
		return nil, fmt.Errorf("%w (%w)", ErrMissing, err)
	}
	err = ports.Retry(func() error {
		s, err = startOnce(c, program, args, text)
		return err
	})
	return s, err
}

func startOnce(c Config, program string, args []string, text func(port int) string) (*Server, error) {
	port, err := ports.Reserve(busOffset)
	if err != nil {
		return nil, err
	}
	p, err := process.NewServer("redisserver: the server at "+ports.Address(port), "", "redis-",
		func() { ports.Release(port) })
	if err != nil {
		return nil, err
	}
	conf := filepath.Join(p.Dir(), "redis.conf")
	s := &Server{Server: p, port: port, password: c.Password, program: program, args: append([]string{conf}, args...),
		env: c.Env}
	if err = os.WriteFile(conf, []byte(text(port)), 0o600); err == nil {
		err = s.launch(ready)
	}
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// launch starts the process and waits until it answers a PING as wanted.
func (s *Server) launch(wanted func(error) bool) error {
	run, err := s.launchProcess()
	if err != nil {
		return err
	}
	return s.awaitAnswer(run, wanted)
}

// launchProcess starts the process.
func (s *Server) launchProcess() (*process.Process, error) {
	cmd := exec.Command(s.program, s.args...)
	cmd.Env = append(os.Environ(), s.env...)
	return s.Launch(cmd)
}

// awaitAnswer waits until the started server answers a PING as wanted. If it does not, awaitAnswer
// kills this run, and no later one.
func (s *Server) awaitAnswer(run *process.Process, wanted func(error) bool) error {
	err := s.Await(run, Patience, "it answers", func() error {
		_, err := s.command(pingLimit, "PING")
		if wanted(err) {
			return nil
		}
		return err
	})
	if err != nil {
		run.Kill()
	}
	return err
}

// Restart starts a server again that was killed or stopped, with the same port, folder and
// redis.conf; the server itself may have rewritten its redis.conf. It returns when the data is
// loaded.
func (s *Server) Restart() error { return s.launch(ready) }

// RestartLoading is Restart, but returns as soon as the server answers, even if it is still loading
// its data. The setting key-load-delay makes loading slow.
func (s *Server) RestartLoading() error { return s.launch(answers) }

// pingLimit is how long one PING waits for an answer. Another program may have the port, and not
// answer.
const pingLimit = 500 * time.Millisecond

// answers reports whether the result of a command shows that the server runs.
func answers(err error) bool {
	_, replied := errors.AsType[ReplyError](err)
	return err == nil || replied
}

// ready reports whether the result of a command shows that the server has loaded its data. Other
// errors, such as NOAUTH, are expected.
func ready(err error) bool {
	e, _ := errors.AsType[ReplyError](err)
	return answers(err) && e.Code() != "LOADING"
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
