package zookeeperserver

import "github.com/leasehold-go/leasehold/internal/needed"

// ForTest is Start for a test. The server is closed at the end of the test, and its log is shown if the test has
// failed. If ZooKeeper is missing, the test is skipped.
func ForTest(t needed.TB, c Config) *Server {
	t.Helper()
	s, err := Start(c)
	needed.Started(t, err, ErrMissing)
	needed.End(t, s)
	return s
}

// EnsembleForTest is StartEnsemble for a test, just as ForTest is Start.
func EnsembleForTest(t needed.TB, n int, c Config) *Ensemble {
	t.Helper()
	e, err := StartEnsemble(n, c)
	needed.Started(t, err, ErrMissing)
	needed.End(t, e.Servers...)
	return e
}
