package redisserver

import (
	"fmt"
	"time"

	"github.com/leasehold-go/leasehold/internal/process"
)

// Patience limits every wait in this package that depends on a server: for its start, for its
// connection to a master, for a failover. It is long because test machines are slow at times.
const Patience = 30 * time.Second

// await checks until nothing is missing, at least once, and at most for Patience.
func await(until string, missing func() error) error {
	return process.Await("redisserver", Patience, until, missing)
}

// AwaitInfo waits until a field of INFO has a value, at most for Patience.
func (s *Server) AwaitInfo(field, value string) error {
	return await(fmt.Sprintf("%s of %s is %q", field, s.Addr(), value), func() error {
		is, err := s.Info(field)
		if err == nil && is != value {
			err = fmt.Errorf("it is %q", is)
		}
		return err
	})
}
