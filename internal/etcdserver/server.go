package etcdserver

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"

	"github.com/leasehold-go/leasehold/internal/ports"
	"github.com/leasehold-go/leasehold/internal/process"
)

// ErrMissing means that there is no etcd on this machine.
var ErrMissing = errors.New("etcdserver: etcd is missing: install it (on Debian: apt-get install etcd-server), or put its folder into PATH")

// Server is an etcd server in a process of its own, with a folder and ports of its own: a cluster, or a member of one. Many goroutines may use it.
type Server struct {
	name    string
	dir     string
	program string
	args    []string
	secure  bool
	client  int // its ports
	peer    int
	control int // the one for this package; that for clients if they need no certificate

	mu     sync.Mutex       // held while the process is started or ended
	run    *process.Process // the last one
	paused bool             // it was told to stop, and not yet to go on
	closed bool             // its ports are given back
}

// Start starts a server with a folder and ports of its own, and waits until it answers. Close ends it. It dies with this process in any case, on
// Linux. If etcd is missing, the error is ErrMissing.
func Start(c Config) (*Server, error) {
	all, err := startAll(1, c)
	if err != nil {
		return nil, err
	}
	return all[0], nil
}

// portRetries is how often another process may take a port between our look and the start of the server.
const portRetries = 5

// startAll starts servers that are one cluster.
func startAll(n int, c Config) ([]*Server, error) {
	program := c.Program
	if program == "" {
		program = "etcd"
	}
	program, err := exec.LookPath(program)
	if err != nil {
		return nil, fmt.Errorf("%w (%w)", ErrMissing, err)
	}
	for range portRetries {
		var all []*Server
		if all, err = newServers(n, c, program); err == nil {
			err = startTogether(all)
		}
		if err == nil {
			return all, nil
		}
		// The reason goes with the servers.
		taken := strings.Contains(err.Error(), "address already in use")
		if err = errors.Join(err, closeAll(all)); !taken {
			break
		}
	}
	return nil, err
}

// newServers makes servers that are one cluster. Those that were made are to be closed, even if it fails.
func newServers(n int, c Config, program string) (all []*Server, err error) {
	for i := range n {
		s := &Server{name: fmt.Sprintf("m%d", i+1), program: program, secure: c.Cert != ""}
		if s.dir, err = c.folder(); err != nil {
			return all, err
		}
		all = append(all, s)
		if err = s.reservePorts(); err != nil {
			return all, err
		}
	}
	for _, s := range all {
		s.args = c.args(s, all)
	}
	return all, nil
}

func (s *Server) reservePorts() (err error) {
	if s.client, err = ports.Reserve(); err != nil {
		return err
	}
	s.control = s.client
	if s.secure {
		if s.control, err = ports.Reserve(); err != nil {
			return err
		}
	}
	s.peer, err = ports.Reserve()
	return err
}

// launch starts the process.
func (s *Server) launch() error {
	log, err := os.OpenFile(s.logFile(), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer log.Close() // the process has its own
	cmd := exec.Command(s.program, s.args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = s.dir, log, log
	run, err := process.Start(cmd)
	if err != nil {
		return err
	}
	s.run, s.paused = run, false
	return nil
}

// awaitAnswer waits until the server that was launched knows a leader, as it does only when a majority of its cluster runs. If it does not, it is killed.
func (s *Server) awaitAnswer() error {
	s.mu.Lock()
	run, ended := s.run, false
	s.mu.Unlock()
	err := await("the server at "+s.Addr()+" knows a leader", func() error {
		if ended = run.Ended(); ended {
			return nil
		}
		status, err := s.status(startBeat)
		if err == nil && status.Leader == 0 {
			err = errors.New("there is none")
		}
		return err
	})
	if ended {
		err = fmt.Errorf("etcdserver: the server at %s ended at once", s.Addr())
	}
	if err != nil {
		run.Kill()
		return fmt.Errorf("%w\nits log ends with:\n%s", err, s.Log())
	}
	return nil
}

// Close kills the server and removes its folder. Closing it again does nothing.
func (s *Server) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.kill()
	if !s.closed { // by now others may have its ports
		ports.Release(s.client)
		ports.Release(s.peer)
		ports.Release(s.control)
		s.closed = true
	}
	return os.RemoveAll(s.dir)
}

// Name returns the name that the server has in its cluster, such as "m1".
func (s *Server) Name() string { return s.name }

// Addr returns the address for clients, such as "127.0.0.1:12345". It stays the same over restarts.
func (s *Server) Addr() string { return ports.Address(s.client) }

// URL returns the address for clients as etcd has it, such as "http://127.0.0.1:12345", or with https if they need TLS.
func (s *Server) URL() string {
	if s.secure {
		return "https://" + s.Addr()
	}
	return "http://" + s.Addr()
}

func (s *Server) peerURL() string { return "http://" + ports.Address(s.peer) }

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

func (s *Server) data() string { return filepath.Join(s.dir, "data") }

func (s *Server) logFile() string { return filepath.Join(s.dir, "log") }
