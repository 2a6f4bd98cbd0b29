package etcdserver

import (
	"fmt"
	"os"

	"github.com/leasehold-go/leasehold/internal/process"
)

// Restart starts a server again that was killed: with the same ports, and what it has written down. It returns when the server knows a leader, so a
// majority of its cluster must run; [Cluster.Restart] starts several.
func (s *Server) Restart() error { return startTogether([]*Server{s}) }

// startTogether starts servers that do not run, and waits until each knows a leader, for which they may need one another.
func startTogether(all []*Server) error {
	runs := make([]*process.Process, len(all))
	for i, s := range all {
		var err error
		if runs[i], err = s.launch(); err != nil {
			return err
		}
	}
	for i, s := range all {
		if err := s.awaitAnswer(runs[i]); err != nil {
			return err
		}
	}
	return nil
}

// Wipe removes all that a server has written down, which must not run. A server that is a cluster of its own starts with nothing then. A member of a
// larger one is not let in any more by the others, unless all of them are wiped.
func (s *Server) Wipe() error {
	if s.PID() != 0 {
		return fmt.Errorf("%v runs: call Kill before Wipe", s)
	}
	return os.RemoveAll(s.data())
}
