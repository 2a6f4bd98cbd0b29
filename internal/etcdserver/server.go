package etcdserver

import (
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"

	"github.com/leasehold-go/leasehold/internal/ports"
	"github.com/leasehold-go/leasehold/internal/process"
)

// ErrMissing means that there is no etcd on this machine.
var ErrMissing = errors.New("etcdserver: etcd is missing: install it (on Debian: apt-get install etcd-server), or put its folder into PATH")

// Server is an etcd server in a process of its own, with a folder and ports of its own: a cluster, or a member of one. Many goroutines may use it.
type Server struct {
	// Server is its process, folder and log: PID, Up, Dir and Log tell of them, Kill, Stop, Pause and Resume happen to them, and Close ends them.
	*process.Server

	name    string
	program string
	args    []string
	secure  bool
	client  int // its ports
	peer    int
	control int // the one for this package; that for clients if they need no certificate
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

// startAll starts servers that are one cluster.
func startAll(n int, c Config) (all []*Server, err error) {
	program := c.Program
	if program == "" {
		program = "etcd"
	}
	if program, err = exec.LookPath(program); err != nil {
		return nil, fmt.Errorf("%w (%w)", ErrMissing, err)
	}
	err = ports.Retry(func() error {
		if all, err = newServers(n, c, program); err == nil {
			err = startTogether(all)
		}
		if err != nil {
			err = errors.Join(err, closeAll(all))
		}
		return err
	})
	return all, err
}

// newServers makes servers that are one cluster. Those that were made are to be closed, even if it fails.
func newServers(n int, c Config, program string) (all []*Server, err error) {
	for i := range n {
		s := &Server{name: fmt.Sprintf("m%d", i+1), program: program, secure: c.Cert != ""}
		if err = s.reservePorts(); err == nil {
			s.Server, err = process.NewServer("etcdserver: the server at "+s.Addr(), c.parent(), "etcd-", s.releasePorts)
		}
		if err != nil {
			return all, err
		}
		all = append(all, s)
	}
	for _, s := range all {
		s.args = c.args(s, all)
	}
	return all, nil
}

// reservePorts gets all ports, or none.
func (s *Server) reservePorts() (err error) {
	wanted := []*int{&s.client, &s.peer, &s.control}
	if !s.secure {
		wanted = wanted[:2]
	}
	for _, port := range wanted {
		if *port, err = ports.Reserve(); err != nil {
			s.releasePorts()
			return err
		}
	}
	if !s.secure {
		s.control = s.client
	}
	return nil
}

func (s *Server) releasePorts() {
	for _, port := range []int{s.client, s.peer, s.control} {
		ports.Release(port)
	}
}

// launch starts the process.
func (s *Server) launch() (*process.Process, error) {
	return s.Launch(exec.Command(s.program, s.args...))
}

// awaitAnswer waits until the server that was launched knows a leader, as it does only when a majority of its cluster runs. If it does not, that run is killed,
// and no later one.
func (s *Server) awaitAnswer(run *process.Process) error {
	err := s.Await(run, Patience, "it knows a leader", func() error {
		status, err := s.status(startBeat)
		if err == nil && status.Leader == 0 {
			err = errors.New("there is none")
		}
		return err
	})
	if err != nil {
		run.Kill()
	}
	return err
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

func (s *Server) data() string { return filepath.Join(s.Dir(), "data") }
