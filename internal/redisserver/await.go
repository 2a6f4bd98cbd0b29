package redisserver

import (
	"fmt"
	"time"

	"github.com/leasehold-go/leasehold/internal/process"
)

// Patience is how long everything here waits that depends on a server: for its start, for a link to its master, for
// a failover. It is long, as machines that run tests are slow at times.
const Patience = 30 * time.Second

// await asks until nothing is missing, and for no longer than Patience. It looks at least once.
func await(until string, missing func() error) error {
	return process.Await("redisserver", Patience, until, missing)
}

// AwaitInfo waits until a field of INFO has a value, for no longer than Patience.
func (s *Server) AwaitInfo(field, value string) error {
	return await(fmt.Sprintf("%s of %s is %q", field, s.Addr(), value), func() error {
		is, err := s.Info(field)
		if err == nil && is != value {
			err = fmt.Errorf("it is %q", is)
		}
		return err
	})
}
