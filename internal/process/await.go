package process

import (
	"fmt"
	"time"
)

// beat is the time between two looks at a server.
const beat = 10 * time.Millisecond

// Await asks until nothing is missing, and for no longer than a limit. It looks at least once, and says for whom it has waited in vain.
func Await(whom string, limit time.Duration, until string, missing func() error) error {
	for began := time.Now(); ; time.Sleep(beat) {
		err := missing()
		if err == nil {
			return nil
		}
		if time.Since(began) > limit {
			return fmt.Errorf("%s: waited %v until %s: %w", whom, limit, until, err)
		}
	}
}

// Await waits until nothing is missing of a run of the server, which Launch or Run has returned, and for no longer than a limit. It is over at once if that run
// ends, even if the server is in another one by then; nil is a run that has ended. Errors have the end of the log.
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
