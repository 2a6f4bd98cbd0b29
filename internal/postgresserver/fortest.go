package postgresserver

import "github.com/leasehold-go/leasehold/internal/needed"

// ForTest is StartWith for a test. The server is closed at the end of the test, and its log is shown if the test has
// failed. If PostgreSQL is not installed, the test is skipped.
func ForTest(t needed.TB, c Config) *Server {
	t.Helper()
	s, err := StartWith(c)
	needed.Started(t, err, ErrMissing)
	needed.End(t, s)
	return s
}

// StandbyForTest is StartStandby for a test, as ForTest is StartWith.
func StandbyForTest(t needed.TB, of *Server, c Config) *Server {
	t.Helper()
	s, err := StartStandby(of, c)
	needed.Started(t, err, ErrMissing)
	needed.End(t, s)
	return s
}

// BouncerForTest is StartBouncer for a test, as ForTest is StartWith. If PgBouncer is not installed, the test is
// skipped.
func BouncerForTest(t needed.TB, of *Server) *Bouncer {
	t.Helper()
	b, err := StartBouncer(of)
	needed.Started(t, err, ErrNoBouncer)
	needed.End(t, b)
	return b
}
