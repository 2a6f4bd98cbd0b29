package zookeeperserver

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"time"

	"github.com/leasehold-go/leasehold/internal/ports"
	"github.com/leasehold-go/leasehold/internal/process"
)

// Patience is how long everything in this package waits that depends on a server: for its start, or for an election. It
// is long, as machines that run tests are sometimes slow.
const Patience = 2 * time.Minute

// Server is a ZooKeeper server in a process of its own, with a folder and ports of its own. It is safe for concurrent
// use.
type Server struct {
	// Server is its process, folder and log. It has PID, Up, Dir, Log, Kill, Stop, Pause, Resume and Close.
	*process.Server

	program program
	ports   serverPorts
	env     []string
}

// Start starts a standalone server, and waits until it answers. Close ends it, and on Linux the end of this process
// does, too. If ZooKeeper or Java is missing, the error is ErrMissing.
func Start(c Config) (*Server, error) {
	self, err := reservePorts()
	if err != nil {
		return nil, err
	}
	s, err := newServer(c, 1, self, nil)
	if err != nil {
		return nil, err
	}
	if err := s.Restart(); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// newServer creates the folder of a server. The ports then belong to the server, and are released if newServer fails.
func newServer(c Config, id int, self serverPorts, all []serverPorts) (*Server, error) {
	p, err := find(os.Getenv(Env))
	if err != nil {
		self.release()
		return nil, err
	}
	name := "zookeeperserver: the server at " + ports.Address(self.client)
	run, err := process.NewServer(name, "", "zookeeper-", self.release)
	if err != nil {
		return nil, err
	}
	dir, data := run.Dir(), filepath.Join(run.Dir(), dataFolder)
	err = errors.Join(
		os.Mkdir(data, 0o700),
		os.WriteFile(filepath.Join(dir, configFile), []byte(c.text(dir, self, all)), 0o600),
		os.WriteFile(filepath.Join(dir, logbackXML), []byte(logback), 0o600),
		os.WriteFile(filepath.Join(data, idFile), []byte(strconv.Itoa(id)), 0o600),
	)
	if err != nil {
		return nil, errors.Join(err, run.Close())
	}
	return &Server{run, p, self, c.Env}, nil
}

// Restart starts a server that was killed, with the same ports and data, and returns when it serves clients. In an
// ensemble that takes a majority: if all were killed, call Launch for all of them first.
func (s *Server) Restart() error {
	run, err := s.Launch()
	if err != nil {
		return err
	}
	return s.awaitServing(run)
}

// Launch is Restart without the wait.
func (s *Server) Launch() (*process.Process, error) {
	if s.Run() == nil {
		if err := fixEpoch(filepath.Join(s.Dir(), dataFolder)); err != nil {
			return nil, err
		}
	}
	cmd := exec.Command(s.program.java, s.program.arguments(s.Dir())...)
	cmd.Env = append(os.Environ(), s.env...)
	return s.Server.Launch(cmd)
}

// AwaitServing waits until the server serves clients: it is standalone, has a leader, or is the leader. It waits no
// longer than Patience.
func (s *Server) AwaitServing() error { return s.awaitServing(s.Run()) }

func (s *Server) awaitServing(run *process.Process) error {
	return s.Await(run, Patience, "it serves clients", func() error {
		_, err := s.Role()
		return err
	})
}

// Addr returns the address for clients, such as "127.0.0.1:12345". It does not change over restarts.
func (s *Server) Addr() string { return ports.Address(s.ports.client) }

// await calls missing until it returns nil, at least once, and for no longer than Patience.
func await(until string, missing func() error) error {
	return process.Await("zookeeperserver", Patience, until, missing)
}
