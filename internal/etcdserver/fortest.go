package etcdserver

import "github.com/leasehold-go/leasehold/internal/needed"

// ForTest is Start for a test. The server is closed at the end of the test, and its log is shown if the test has
// failed. The test is skipped if etcd is not installed.
func ForTest(t needed.TB, c Config) *Server {
	t.Helper()
	s, err := Start(c)
	needed.Started(t, err, ErrMissing)
	needed.End(t, s)
	return s
}

// ClusterForTest is StartCluster for a test. See [ForTest].
func ClusterForTest(t needed.TB, n int, c Config) *Cluster {
	t.Helper()
	cl, err := StartCluster(n, c)
	needed.Started(t, err, ErrMissing)
	needed.End(t, cl.Members...)
	return cl
}
