package zookeeperserver

import (
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/leasehold-go/leasehold/internal/process"
)

// Ensemble is a number of servers that keep the same data and elect a leader.
type Ensemble struct {
	// Servers are all of them, in an order that stays the same.
	Servers []*Server
}

// StartEnsemble starts an ensemble of n servers and waits until all of them serve clients. It is all of them or none.
func StartEnsemble(n int, c Config) (*Ensemble, error) {
	members := make([]member, n)
	e := &Ensemble{}
	for i := range members {
		var err error
		if members[i], err = reserve(); err != nil {
			for _, m := range members[:i] {
				m.release()
			}
			return nil, err
		}
	}
	for i, own := range members {
		s, err := prepare(c, i+1, own, members)
		if err != nil {
			for _, m := range members[i+1:] {
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

// Restart starts all servers again that do not run, and waits until all of them serve clients.
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

// Kill kills all servers, all at once.
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

// AwaitLeader returns the leader, once one of the servers that are up is, and makes a majority with others of them. It waits no longer than Patience. Right
// after a failure that is a new one: what has failed is not up.
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

// Followers returns the servers that are up, but for the leader.
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
