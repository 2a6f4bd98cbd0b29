package process

import (
	"fmt"
	"time"
)

// pollInterval is the time between two checks.
const pollInterval = 10 * time.Millisecond

// Await checks until nothing is missing, at least once, and at most for the limit. The error says
// for whom it has waited, and what is missing.
func Await(whom string, limit time.Duration, until string, missing func() error) error {
	for began := time.Now(); ; time.Sleep(pollInterval) {
		err := missing()
		if err == nil {
			return nil
		}
		if time.Since(began) > limit {
			return fmt.Errorf("%s: waited %v until %s: %w", whom, limit, until, err)
		}
	}
}

// Await waits until nothing is missing of a run of the server, which Launch or Run has returned,
// and at most for the limit. It returns at once if that run ends, even if the server has been
// started again; nil is a run that has ended. Errors contain the end of the log.
func (s *Server) Await(run *Process, limit time.Duration, until string, missing func() error) error {
	ended := false
	err := Await(s.name, limit, until, func() error {
		if ended = run == nil || run.Ended(); ended {
			return nil
		}
		return missing()
	})
	if ended {
		err = fmt.Errorf("%s has ended before %s", s.name, until)
	}
	if err != nil {
		return fmt.Errorf("%w\nits log ends with:\n%s", err, s.Log())
	}
	return nil
}
