package zookeeperserver

import (
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/leasehold-go/leasehold/internal/process"
)

// Ensemble is a number of servers that keep the same data and elect a leader. It is safe for concurrent use.
type Ensemble struct {
	// Servers are all of them, in an order that does not change.
	Servers []*Server
}

// StartEnsemble starts an ensemble of n servers and waits until all of them serve clients. If one of them fails, it
// ends them all.
func StartEnsemble(n int, c Config) (*Ensemble, error) {
	ports := make([]serverPorts, n)
	e := &Ensemble{}
	for i := range ports {
		var err error
		if ports[i], err = reservePorts(); err != nil {
			for _, m := range ports[:i] {
				m.release()
			}
			return nil, err
		}
	}
	for i, self := range ports {
		s, err := newServer(c, i+1, self, ports)
		if err != nil {
			for _, m := range ports[i+1:] {
				m.release()
			}
			return nil, errors.Join(err, e.Close())
		}
		e.Servers = append(e.Servers, s)
	}
	if err := e.Restart(); err != nil {
		return nil, errors.Join(err, e.Close())
	}
	return e, nil
}

// Restart starts all servers that do not run, and waits until all of them serve clients.
func (e *Ensemble) Restart() error {
	runs := make([]*process.Process, len(e.Servers))
	for i, s := range e.Servers {
		if runs[i] = s.Run(); runs[i] != nil {
			continue
		}
		var err error
		if runs[i], err = s.Launch(); err != nil {
			return err
		}
	}
	for i, s := range e.Servers {
		if err := s.awaitServing(runs[i]); err != nil {
			return err
		}
	}
	return nil
}

// Kill kills all servers at the same time.
func (e *Ensemble) Kill() {
	var all sync.WaitGroup
	for _, s := range e.Servers {
		all.Go(s.Kill)
	}
	all.Wait()
}

// Close ends all servers and removes their folders.
func (e *Ensemble) Close() error {
	errs := make([]error, len(e.Servers))
	var all sync.WaitGroup
	for i, s := range e.Servers {
		all.Go(func() { errs[i] = s.Close() })
	}
	all.Wait()
	return errors.Join(errs...)
}

// Addrs returns the addresses for clients, in the order of the servers.
func (e *Ensemble) Addrs() []string {
	all := make([]string, len(e.Servers))
	for i, s := range e.Servers {
		all[i] = s.Addr()
	}
	return all
}

// List returns the addresses for clients with commas between them.
func (e *Ensemble) List() string { return strings.Join(e.Addrs(), ",") }

// AwaitLeader returns the leader, once one of the servers that are up is the leader and a majority is up and serves
// clients. It waits no longer than Patience. Right after a failure that is a new leader: the failed one is not up.
func (e *Ensemble) AwaitLeader() (leader *Server, err error) {
	err = await("there is a leader with a majority", func() error {
		leader = nil
		var serve []string
		for _, s := range e.Servers {
			if !s.Up() {
				continue
			}
			role, err := s.Role()
			if err != nil {
				continue
			}
			serve = append(serve, role)
			if role == "leader" {
				leader = s
			}
		}
		if leader == nil || len(serve) <= len(e.Servers)/2 {
			return fmt.Errorf("of %d servers these serve clients: %q", len(e.Servers), serve)
		}
		return nil
	})
	return leader, err
}

// Followers returns the servers that are up, except the leader.
func (e *Ensemble) Followers() (all []*Server, err error) {
	leader, err := e.AwaitLeader()
	if err != nil {
		return nil, err
	}
	for _, s := range e.Servers {
		if s != leader && s.Up() {
			all = append(all, s)
		}
	}
	return all, nil
}
