package postgresserver

import "github.com/leasehold-go/leasehold/internal/needed"

// ForTest is StartWith for a test. The server is closed at the end of the test, and its log is shown if the test has failed. If PostgreSQL is
// missing, the test is skipped.
func ForTest(t needed.TB, c Config) *Server {
	t.Helper()
	s, err := StartWith(c)
	needed.Started(t, err, ErrMissing)
	if err == nil { // the fakes of tests go on after a failure
		endWith(t, s)
	}
	return s
}

// StandbyForTest is StartStandby for a test, as ForTest is StartWith.
func StandbyForTest(t needed.TB, of *Server, c Config) *Server {
	t.Helper()
	s, err := StartStandby(of, c)
	needed.Started(t, err, ErrMissing)
	if err == nil {
		endWith(t, s)
	}
	return s
}

// BouncerForTest is StartBouncer for a test, as ForTest is StartWith. If PgBouncer is missing, the test is skipped.
func BouncerForTest(t needed.TB, of *Server) *Bouncer {
	t.Helper()
	b, err := StartBouncer(of)
	needed.Started(t, err, ErrNoBouncer)
	if err == nil {
		endWith(t, b)
	}
	return b
}

// endWith sees to it that a program is ended with the test.
func endWith(t needed.TB, p interface {
	Log() string
	Close() error
}) {
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("the log of the server ends with:\n%s", p.Log())
		}
		if err := p.Close(); err != nil {
			t.Logf("closing the server: %v", err)
		}
	})
}
