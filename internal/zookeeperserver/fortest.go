package zookeeperserver

import "github.com/leasehold-go/leasehold/internal/needed"

// ForTest is Start for a test. The server is closed at the end of the test, and its log is shown if the test has failed. If ZooKeeper is missing, the
// test is skipped.
func ForTest(t needed.TB, c Config) *Server {
	t.Helper()
	s, err := Start(c)
	needed.Started(t, err, ErrMissing)
	if err == nil { // the fakes of tests go on after a failure
		t.Cleanup(func() { end(t, &Ensemble{Servers: []*Server{s}}) })
	}
	return s
}

// EnsembleForTest is StartEnsemble for a test, as ForTest is Start.
func EnsembleForTest(t needed.TB, n int, c Config) *Ensemble {
	t.Helper()
	e, err := StartEnsemble(n, c)
	needed.Started(t, err, ErrMissing)
	if err == nil {
		t.Cleanup(func() { end(t, e) })
	}
	return e
}

// end closes servers, and shows the logs of a test that failed.
func end(t needed.TB, e *Ensemble) {
	if t.Failed() {
		for _, s := range e.Servers {
			t.Logf("the log of the server at %s ends with:\n%s", s.Addr(), s.Log())
		}
	}
	if err := e.Close(); err != nil {
		t.Logf("closing the servers: %v", err)
	}
}
