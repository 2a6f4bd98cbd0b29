package etcdserver

import (
	"fmt"
	"os"

	"github.com/leasehold-go/leasehold/internal/process"
)

// Restart starts a killed server again, with the same ports and its data. It returns when the server knows a leader, so
// a majority of its cluster must run; [Cluster.Restart] starts several servers.
func (s *Server) Restart() error { return startTogether([]*Server{s}) }

// startTogether starts servers that do not run, and waits until each knows a leader. They may need one another for
// that.
func startTogether(all []*Server) error {
	runs := make([]*process.Process, len(all))
	for i, s := range all {
		var err error
		if runs[i], err = s.launch(); err != nil {
			return err
		}
	}
	for i, s := range all {
		if err := s.awaitLeader(runs[i]); err != nil {
			return err
		}
	}
	return nil
}

// Wipe removes all data of a server, which must not run. A server that is a cluster of its own then starts empty. A
// member of a larger cluster is not let in again by the others unless all of them are wiped.
func (s *Server) Wipe() error {
	if s.PID() != 0 {
		return fmt.Errorf("%v runs: call Kill before Wipe", s)
	}
	return os.RemoveAll(s.data())
}
