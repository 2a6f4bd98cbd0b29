package redisserver

import (
	"fmt"
	"time"
)

// Patience is how long everything here waits that depends on a server: for its start, for a link to its master, for
// a failover. It is long, as machines that run tests are slow at times.
const Patience = 30 * time.Second

// beat is the time between two looks at a server.
const beat = 10 * time.Millisecond

// await asks until nothing is missing, and for no longer than Patience. It looks at least once.
func await(what string, missing func() error) error {
	for began := time.Now(); ; <-time.After(beat) {
		err := missing()
		if err == nil {
			return nil
		}
		if time.Since(began) > Patience {
			return fmt.Errorf("redisserver: waited %v until %s: %w", Patience, what, err)
		}
	}
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
