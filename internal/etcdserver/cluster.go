package etcdserver

import (
	"errors"
	"fmt"
)

// Cluster are servers that keep the same data together. Many goroutines may use it.
type Cluster struct {
	// Members are the servers, in an order that stays the same.
	Members []*Server
}

// StartCluster starts n servers that are one cluster, and waits until all of them know the leader. Close ends them. If etcd is missing, the error is
// ErrMissing.
func StartCluster(n int, c Config) (*Cluster, error) {
	all, err := startAll(n, c)
	if err != nil {
		return nil, err
	}
	return &Cluster{all}, nil
}

// Leader returns the server that leads, as soon as a majority of all servers, which run, agrees that it does.
func (c *Cluster) Leader() (leader *Server, err error) {
	err = await("a majority agrees who leads", func() error {
		leader, err = c.agreed()
		return err
	})
	return leader, err
}

// agreed returns the leader in whom a majority believes at the moment.
func (c *Cluster) agreed() (*Server, error) {
	type election struct{ leader, term uint64 }
	votes, members := map[election]int{}, map[uint64]*Server{}
	var errs []error
	for _, s := range c.Members {
		if !s.Up() {
			continue
		}
		status, err := s.status(startBeat)
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
	return nil, errors.Join(append(errs, fmt.Errorf("of %d members, this many believe in each leader: %v", len(c.Members), votes))...)
}

// Others returns all servers but one.
func (c *Cluster) Others(than *Server) (all []*Server) {
	for _, s := range c.Members {
		if s != than {
			all = append(all, s)
		}
	}
	return all
}

// Addrs returns the addresses of all servers, for clients.
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

// Restart starts those servers again that do not run, and waits until they know a leader.
func (c *Cluster) Restart() error {
	var down []*Server
	for _, s := range c.Members {
		if s.PID() == 0 {
			down = append(down, s)
		}
	}
	return startTogether(down)
}

// Close kills all servers and removes their folders. Closing it again does nothing.
func (c *Cluster) Close() error { return closeAll(c.Members) }

func closeAll(all []*Server) error {
	var errs []error
	for _, s := range all {
		errs = append(errs, s.Close())
	}
	return errors.Join(errs...)
}
