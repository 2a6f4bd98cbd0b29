package redisserver

import "github.com/leasehold-go/leasehold/internal/needed"

// ForTest is Start for a test. The server is closed at the end of the test, and its log is shown if the
// test has failed. If Redis is missing, the test is skipped.
func ForTest(t needed.TB, c Config) *Server {
	t.Helper()
	s, err := Start(c)
	started(t, err, func() []*Server { return []*Server{s} })
	return s
}

// ReplicaForTest is StartReplica for a test, as ForTest is Start.
func ReplicaForTest(t needed.TB, of *Server, c Config) *Server {
	t.Helper()
	s, err := StartReplica(of, c)
	started(t, err, func() []*Server { return []*Server{s} })
	return s
}

// ReplicatedForTest is StartReplicated for a test, as ForTest is Start.
func ReplicatedForTest(t needed.TB, replicas int, c Config) *Replicated {
	t.Helper()
	r, err := StartReplicated(replicas, c)
	started(t, err, func() []*Server { return r.Servers() })
	return r
}

// ClusterForTest is StartCluster for a test, as ForTest is Start.
func ClusterForTest(t needed.TB, masters, replicasEach int, c Config) *Cluster {
	t.Helper()
	cl, err := StartCluster(masters, replicasEach, c)
	started(t, err, func() []*Server { return cl.Nodes })
	return cl
}

// SentinelsForTest is StartSentinels for a test, as ForTest is Start.
func SentinelsForTest(t needed.TB, n int, r *Replicated) *Sentinels {
	t.Helper()
	s, err := StartSentinels(n, r)
	started(t, err, func() []*Server { return s.All })
	return s
}

// ProxyForTest is NewProxy for a test. The proxy is closed at the end of the test.
func ProxyForTest(t needed.TB, target string) *Proxy {
	t.Helper()
	p, err := NewProxy(target)
	started(t, err, func() []*Server { return nil })
	if err == nil {
		t.Cleanup(func() { _ = p.Close() }) // it always returns nil
	}
	return p
}

// started ends the test if a start failed, and sees to it that what was started is ended.
func started(t needed.TB, err error, servers func() []*Server) {
	t.Helper()
	needed.Started(t, err, ErrMissing)
	if err == nil { // the fakes of tests go on after a failure
		t.Cleanup(func() { end(t, servers()) })
	}
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
