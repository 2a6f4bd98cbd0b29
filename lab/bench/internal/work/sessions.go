package work

import (
	"errors"

	"github.com/leasehold-go/leasehold/lab/bench/internal/lib"
)

// sessions are clients with connections of their own.
type sessions []lib.Session

// openSessions opens n sessions of a library.
func openSessions(e Env, n int) (all sessions, err error) {
	for range n {
		s, err := e.Library.Open(e.LibConfig())
		if err != nil {
			return nil, errors.Join(err, all.close())
		}
		all = append(all, s)
	}
	return all, nil
}

func (all sessions) close() error {
	var errs []error
	for _, s := range all {
		errs = append(errs, s.Close())
	}
	return errors.Join(errs...)
}
