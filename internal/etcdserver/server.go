package etcdserver

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/leasehold-go/leasehold/internal/ports"
	"github.com/leasehold-go/leasehold/internal/process"
)

// ErrMissing means that etcd is not installed.
var ErrMissing = errors.New("etcdserver: etcd is missing: install it (on Debian: apt-get install etcd-server), " +
	"or put its folder into PATH")

// Server is an etcd server in a process of its own, with its own folder and ports: a cluster, or a member of one. It is
// safe for concurrent use.
type Server struct {
	// Server is the process with its folder and log. PID, Up, Dir and Log report on it, Kill, Stop, Pause and Resume
	// act on it, and Close ends it.
	*process.Server

	name    string
	program string
	args    []string
	env     []string
	secure  bool
	client  int // ports
	peer    int
	control int // the port for this package; equal to client unless clients need a certificate
}

// Start starts a server with its own folder and ports, and waits until it answers. Close ends it; on Linux it also ends
// with this process. The error is ErrMissing if etcd is not installed.
func Start(c Config) (*Server, error) {
	all, err := startAll(1, c)
	if err != nil {
		return nil, err
	}
	return all[0], nil
}

// startAll starts servers that form one cluster.
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

// newServers makes servers that form one cluster. The caller closes those that it returns, also with an error.
func newServers(n int, c Config, program string) (all []*Server, err error) {
	for i := range n {
		s := &Server{name: fmt.Sprintf("m%d", i+1), program: program, env: c.Env, secure: c.Cert != ""}
		if err = s.reservePorts(); err == nil {
			what := "etcdserver: the server at " + s.Addr()
			s.Server, err = process.NewServer(what, c.parentFolder(), "etcd-", s.releasePorts)
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

// reservePorts reserves all ports, or none.
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
	cmd := exec.Command(s.program, s.args...)
	cmd.Env = append(os.Environ(), s.env...)
	return s.Launch(cmd)
}

// awaitLeader waits until the launched server knows a leader, which takes a majority of its cluster. If it fails, it
// kills that run, and no later one.
func (s *Server) awaitLeader(run *process.Process) error {
	err := s.Await(run, Patience, "it knows a leader", func() error {
		status, err := s.status(pingLimit)
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

// Name returns the server's name in its cluster, such as "m1".
func (s *Server) Name() string { return s.name }

// Addr returns the address for clients, such as "127.0.0.1:12345". A restart keeps it.
func (s *Server) Addr() string { return ports.Address(s.client) }

// URL returns the address for clients as a URL, such as "http://127.0.0.1:12345", or with https if clients need TLS.
func (s *Server) URL() string {
	if s.secure {
		return "https://" + s.Addr()
	}
	return "http://" + s.Addr()
}

func (s *Server) peerURL() string { return "http://" + ports.Address(s.peer) }

func (s *Server) data() string { return filepath.Join(s.Dir(), "data") }
