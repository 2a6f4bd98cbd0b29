package redisserver

import "github.com/leasehold-go/leasehold/internal/needed"

// ForTest is Start for a test. It closes the server at the end of the test, and shows its log if
// the test has failed. If Redis is missing, it skips the test.
func ForTest(t needed.TB, c Config) *Server {
	t.Helper()
	s, err := Start(c)
	needed.Started(t, err, ErrMissing)
	needed.End(t, s)
	return s
}

// ReplicaForTest is StartReplica for a test, as ForTest is Start.
func ReplicaForTest(t needed.TB, of *Server, c Config) *Server {
	t.Helper()
	s, err := StartReplica(of, c)
	needed.Started(t, err, ErrMissing)
	needed.End(t, s)
	return s
}

// ReplicatedForTest is StartReplicated for a test, as ForTest is Start.
func ReplicatedForTest(t needed.TB, replicas int, c Config) *Replicated {
	t.Helper()
	r, err := StartReplicated(replicas, c)
	needed.Started(t, err, ErrMissing)
	needed.End(t, r.Servers()...)
	return r
}

// ClusterForTest is StartCluster for a test, as ForTest is Start.
func ClusterForTest(t needed.TB, masters, replicasEach int, c Config) *Cluster {
	t.Helper()
	cl, err := StartCluster(masters, replicasEach, c)
	needed.Started(t, err, ErrMissing)
	needed.End(t, cl.Nodes...)
	return cl
}

// SentinelsForTest is StartSentinels for a test, as ForTest is Start.
func SentinelsForTest(t needed.TB, n int, r *Replicated) *Sentinels {
	t.Helper()
	s, err := StartSentinels(n, r)
	needed.Started(t, err, ErrMissing)
	needed.End(t, s.All...)
	return s
}

// ProxyForTest is NewProxy for a test. It closes the proxy at the end of the test.
func ProxyForTest(t needed.TB, target string) *Proxy {
	t.Helper()
	p, err := NewProxy(target)
	needed.Started(t, err, ErrMissing)
	t.Cleanup(func() { _ = p.Close() }) // it always returns nil
	return p
}
