package etcdserver

import (
	"errors"
	"fmt"
)

// Cluster is a group of servers that keep the same data. It is safe for concurrent use.
type Cluster struct {
	// Members are the servers, in a stable order.
	Members []*Server
}

// StartCluster starts n servers that form one cluster, and waits until all of them know the leader. Close ends them.
// The error is ErrMissing if etcd is not installed.
func StartCluster(n int, c Config) (*Cluster, error) {
	all, err := startAll(n, c)
	if err != nil {
		return nil, err
	}
	return &Cluster{all}, nil
}

// Leader returns the server that leads. It waits until a majority of all servers agrees on it.
func (c *Cluster) Leader() (leader *Server, err error) {
	err = await("a majority agrees who leads", func() error {
		leader, err = c.agreedLeader()
		return err
	})
	return leader, err
}

// agreedLeader returns the leader that a majority knows at the moment.
func (c *Cluster) agreedLeader() (*Server, error) {
	type election struct{ leader, term uint64 }
	votes, members := map[election]int{}, map[uint64]*Server{}
	var errs []error
	for _, s := range c.Members {
		if !s.Up() {
			continue
		}
		status, err := s.status(pingLimit)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		members[status.ID] = s
		votes[election{status.Leader, status.Term}]++
	}
	for e, n := range votes {
		if leader := members[e.leader]; leader != nil && n > len(c.Members)/2 {
			return leader, nil
		}
	}
	err := fmt.Errorf("of %d members, this many believe in each leader: %v", len(c.Members), votes)
	return nil, errors.Join(append(errs, err)...)
}

// Others returns all servers except one.
func (c *Cluster) Others(than *Server) (all []*Server) {
	for _, s := range c.Members {
		if s != than {
			all = append(all, s)
		}
	}
	return all
}

// Addrs returns the client addresses of all servers.
func (c *Cluster) Addrs() (all []string) {
	for _, s := range c.Members {
		all = append(all, s.Addr())
	}
	return all
}

// Kill ends all servers at once.
func (c *Cluster) Kill() {
	for _, s := range c.Members {
		s.Kill()
	}
}

// Restart starts all servers that do not run, and waits until they know a leader.
func (c *Cluster) Restart() error {
	var down []*Server
	for _, s := range c.Members {
		if s.PID() == 0 {
			down = append(down, s)
		}
	}
	return startTogether(down)
}

// Close kills all servers and removes their folders. It may be called again.
func (c *Cluster) Close() error { return closeAll(c.Members) }

func closeAll(all []*Server) error {
	var errs []error
	for _, s := range all {
		errs = append(errs, s.Close())
	}
	return errors.Join(errs...)
}
