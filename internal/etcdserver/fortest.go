package etcdserver

import "github.com/leasehold-go/leasehold/internal/needed"

// ForTest is Start for a test. The server is closed at the end of the test, and its log is shown if the test has failed. If etcd is missing, the test
// is skipped.
func ForTest(t needed.TB, c Config) *Server {
	t.Helper()
	s, err := Start(c)
	needed.Started(t, err, ErrMissing)
	if err == nil { // the fakes of tests go on after a failure
		t.Cleanup(func() { end(t, []*Server{s}) })
	}
	return s
}

// ClusterForTest is StartCluster for a test, as ForTest is Start.
func ClusterForTest(t needed.TB, n int, c Config) *Cluster {
	t.Helper()
	cl, err := StartCluster(n, c)
	needed.Started(t, err, ErrMissing)
	if err == nil {
		t.Cleanup(func() { end(t, cl.Members) })
	}
	return cl
}

// end closes servers, and shows the logs of a test that failed.
func end(t needed.TB, servers []*Server) {
	if t.Failed() {
		for _, s := range servers {
			t.Logf("the log of the server at %s ends with:\n%s", s.Addr(), s.Log())
		}
	}
	if err := closeAll(servers); err != nil {
		t.Logf("closing the servers: %v", err)
	}
}
