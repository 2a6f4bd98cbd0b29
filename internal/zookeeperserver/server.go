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

// Patience is how long everything here waits that depends on a server: for its start, for an election. It is long, as machines that run tests are
// slow at times.
const Patience = 2 * time.Minute

// Server is a ZooKeeper server in a process of its own, with a folder and ports of its own. Many goroutines may use it.
type Server struct {
	// Server is its process, folder and log: PID, Up, Dir and Log tell of them, Kill, Stop, Pause and Resume happen to them, and Close ends them.
	*process.Server

	program program
	ports   member
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
		return nil, err
	}
	if err := s.Restart(); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// prepare makes the folder of a server. The ports belong to the server from then on, and are released if it fails.
func prepare(c Config, id int, own member, members []member) (*Server, error) {
	p, err := find(os.Getenv(Env))
	if err != nil {
		own.release()
		return nil, err
	}
	run, err := process.NewServer("zookeeperserver: the server at "+ports.Address(own.client), "", "zookeeper-", own.release)
	if err != nil {
		return nil, err
	}
	dir, data := run.Dir(), filepath.Join(run.Dir(), dataFolder)
	err = errors.Join(
		os.Mkdir(data, 0o700),
		os.WriteFile(filepath.Join(dir, configFile), []byte(c.text(dir, own, members)), 0o600),
		os.WriteFile(filepath.Join(dir, logbackXML), []byte(logback), 0o600),
		os.WriteFile(filepath.Join(data, idFile), []byte(strconv.Itoa(id)), 0o600),
	)
	if err != nil {
		return nil, errors.Join(err, run.Close())
	}
	return &Server{run, p, own}, nil
}

// Restart starts a server again that was killed, with the same ports and data, and returns when it serves clients. In an ensemble that takes
// a majority: call Launch for all of them first if all were killed.
func (s *Server) Restart() error {
	run, err := s.Launch()
	if err != nil {
		return err
	}
	return s.awaitServing(run)
}

// Launch is Restart that does not wait.
func (s *Server) Launch() (*process.Process, error) {
	if s.Run() == nil {
		if err := mendEpoch(filepath.Join(s.Dir(), dataFolder)); err != nil {
			return nil, err
		}
	}
	return s.Server.Launch(exec.Command(s.program.java, s.program.arguments(s.Dir())...))
}

// AwaitServing waits until the server serves clients: it is alone, or has a leader, or is one. It waits no longer than Patience.
func (s *Server) AwaitServing() error { return s.awaitServing(s.Run()) }

func (s *Server) awaitServing(run *process.Process) error {
	return s.Await(run, Patience, "it serves clients", func() error {
		_, err := s.Role()
		return err
	})
}

// Addr returns the address for clients, such as "127.0.0.1:12345". It stays the same over restarts.
func (s *Server) Addr() string { return ports.Address(s.ports.client) }

// await asks until nothing is missing, and for no longer than Patience. It looks at least once.
func await(until string, missing func() error) error {
	return process.Await("zookeeperserver", Patience, until, missing)
}
