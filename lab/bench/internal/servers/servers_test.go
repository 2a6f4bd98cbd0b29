package servers

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/leasehold-go/leasehold/internal/needed"
	"github.com/leasehold-go/leasehold/internal/redisserver"
)

// opened opens a backend for a test. It skips the test if its server is not installed.
func opened[P Backend](t *testing.T, open func(context.Context) (P, error)) P {
	t.Helper()
	p, err := open(t.Context())
	if Missing(err) && !needed.Servers() {
		t.Skip(err)
	} else if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { noErr(t, p.Close()) })
	return p
}

func noErr(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestPoolOpensBackendsOnDemand(t *testing.T) {
	t.Parallel()
	server := redisserver.ForTest(t, redisserver.Config{})
	p := New(server.Addr())
	if about := p.Infos(); len(about) != 0 {
		t.Errorf("open from the start: %v", about)
	}
	one, err := p.Get(t.Context(), OneRedis)
	noErr(t, err)
	again, err := p.Get(t.Context(), OneRedis)
	noErr(t, err)
	if one != again {
		t.Error("the second time it is another one")
	}
	if about := p.Infos(); len(about) != 1 || about[0].Kind != OneRedis || about[0].Config != "given" {
		t.Errorf("open: %v", about)
	}
	noErr(t, p.Close())
	if len(p.Infos()) != 0 {
		t.Error("something is open after Close")
	}
	if _, err := server.Command("PING"); err != nil {
		t.Errorf("a server that was given has ended: %v", err)
	}
}

func TestServerThatIsNotInstalledIsMissing(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	for _, k := range []Kind{OneRedis, FiveRedis, OneEtcd, OneZooKeeper} { // PostgreSQL may be outside PATH
		if _, err := New("").Get(t.Context(), k); !Missing(err) {
			t.Errorf("%s: %v", k, err)
		}
	}
	if Missing(errors.New("broken")) || Missing(nil) {
		t.Error("something else is taken for it")
	}
}

func TestLoadCountsWhatScriptsCall(t *testing.T) {
	t.Parallel()
	server := redisserver.ForTest(t, redisserver.Config{})
	r := opened(t, func(ctx context.Context) (*Redis, error) { return OpenRedis(ctx, server.Addr()) })
	before, err := r.Load(t.Context())
	noErr(t, err)
	if _, err := server.Command("EVAL",
		"redis.call('SET', KEYS[1], string.rep('x', 1000000)); return redis.call('GET', 'b')", "1", "a"); err != nil {
		t.Fatal(err)
	}
	after, err := r.Load(t.Context())
	noErr(t, err)
	// The server counts the first INFO only after it has answered it.
	if n := after.Commands - before.Commands; n != 4 {
		t.Errorf("%v commands, want EVAL, SET, GET and INFO", n)
	}
	if grown := after.Memory - before.Memory; grown < 1_000_000 {
		t.Errorf("the memory has grown by %d bytes, want those of the value at least", grown)
	}
}

func TestRemoveKeysDeletesKeysWithTheMark(t *testing.T) {
	t.Parallel()
	n := opened(t, OpenNodes)
	for _, r := range n.all {
		for _, key := range []string{"mark:a", "lock:mark:b", "other"} {
			noErr(t, r.client.Set(t.Context(), key, "x", 0).Err())
		}
	}
	noErr(t, n.RemoveKeys(t.Context(), "mark"))
	for _, r := range n.all {
		keys, err := r.client.Keys(t.Context(), "*").Result()
		noErr(t, err)
		if len(keys) != 1 || keys[0] != "other" {
			t.Errorf("%s has %q", r.addr, keys)
		}
	}
}

// isAnswering reports whether an address answers a PING soon.
func isAnswering(t *testing.T, addr string) bool {
	t.Helper()
	conn, err := net.Dial("tcp", addr)
	noErr(t, err)
	defer conn.Close()
	noErr(t, conn.SetDeadline(time.Now().Add(2*time.Second)))
	_, err = fmt.Fprint(conn, "PING\r\n")
	noErr(t, err)
	_, err = conn.Read(make([]byte, 1))
	return err == nil
}

func TestFaultsMeetTheLastNodeAlone(t *testing.T) {
	t.Parallel()
	n := opened(t, OpenNodes)
	direct, cable := n.Addrs(), n.AddrsByProxy()
	last := len(direct) - 1
	for name, c := range map[string]struct {
		fault Fault
		addrs []string
	}{"stopped": {n.Stopped(), direct}, "blackholed": {n.Blackholed(), cable}} {
		noErr(t, c.fault.Break())
		for i, addr := range c.addrs {
			if want := i != last; isAnswering(t, addr) != want {
				t.Errorf("%s: node %d answers: %v", name, i, !want)
			}
		}
		noErr(t, c.fault.Fix())
		if !isAnswering(t, c.addrs[last]) {
			t.Errorf("%s: the node does not answer after the fault was fixed", name)
		}
	}
	if direct[last] == cable[last] || direct[0] != cable[0] {
		t.Errorf("by proxy: %q, directly: %q", cable, direct)
	}
}

func TestEtcdIsStartedCountedAndCleaned(t *testing.T) {
	t.Parallel()
	e := opened(t, OpenEtcd)
	if e.Info().Version == "etcd " {
		t.Error("it has no version")
	}
	before, err := e.Load(t.Context())
	noErr(t, err)
	for _, key := range []string{"mark:a", "under/mark:b", "other"} {
		_, err := e.client.Put(t.Context(), key, "x")
		noErr(t, err)
	}
	after, err := e.Load(t.Context())
	noErr(t, err)
	if n := after.Commands - before.Commands; n != 3 {
		t.Errorf("%v commands, want 3", n)
	}
	noErr(t, e.RemoveKeys(t.Context(), "mark"))
	left, err := e.client.Get(t.Context(), "", clientv3.WithPrefix(), clientv3.WithKeysOnly())
	noErr(t, err)
	if len(left.Kvs) != 1 || string(left.Kvs[0].Key) != "other" {
		t.Errorf("left: %v", left.Kvs)
	}
}

func TestPostgresIsStartedCountedAndCleaned(t *testing.T) {
	t.Parallel()
	p := opened(t, OpenPostgres)
	noErr(t, p.RemoveKeys(t.Context(), "mark")) // there is nothing yet
	before, err := p.Load(t.Context())
	noErr(t, err)
	for _, statement := range []string{
		"CREATE TABLE bench_pglock (name text)",
		"INSERT INTO bench_pglock VALUES ('mark:a'), ('lock:mark:b'), ('other')",
		"SELECT count(*) FROM generate_series(1, 1000000)",
	} {
		_, err := p.conn.Exec(t.Context(), statement)
		noErr(t, err)
	}
	after, err := p.Load(t.Context())
	noErr(t, err)
	if !math.IsNaN(after.Commands) {
		t.Errorf("%v commands, of which PostgreSQL tells nothing", after.Commands)
	}
	if spent := after.CPU - before.CPU; runtime.GOOS == "linux" && spent < 5*time.Millisecond {
		t.Errorf("counting to a million took %v", spent)
	}
	noErr(t, p.RemoveKeys(t.Context(), "mark"))
	var left []string
	noErr(t, p.conn.QueryRow(t.Context(), "SELECT array_agg(name) FROM bench_pglock").Scan(&left))
	if len(left) != 1 || left[0] != "other" {
		t.Errorf("left: %q", left)
	}
	var fsync string
	noErr(t, p.conn.QueryRow(t.Context(), "SHOW fsync").Scan(&fsync))
	if fsync != "on" || !strings.HasPrefix(p.Info().Version, "PostgreSQL 1") {
		t.Errorf("fsync is %s in %s", fsync, p.Info().Version)
	}
}

func TestZooKeeperIsStartedCountedAndCleaned(t *testing.T) {
	t.Parallel()
	z := opened(t, OpenZooKeeper)
	for _, node := range []string{"/mark:a", "/mark:a/below", "/under", "/under/mark:b", "/other"} {
		_, err := z.conn.Create(node, nil, 0, zk.WorldACL(zk.PermAll))
		noErr(t, err)
	}
	before, err := z.Load(t.Context())
	noErr(t, err)
	for range 100 {
		_, _, err := z.conn.Get("/other")
		noErr(t, err)
	}
	after, err := z.Load(t.Context())
	noErr(t, err)
	// A heartbeat may be among them, and so is the request that asks for the count.
	if n := after.Commands - before.Commands; n < 100 || n > 105 {
		t.Errorf("%v requests, want 100", n)
	}
	if runtime.GOOS == "linux" && after.CPU <= before.CPU {
		t.Errorf("they took no time: %v and %v", before.CPU, after.CPU)
	}
	noErr(t, z.RemoveKeys(t.Context(), "mark"))
	for node, want := range map[string]string{"/": "other under zookeeper", "/under": ""} {
		left, _, err := z.conn.Children(node)
		noErr(t, err)
		slices.Sort(left)
		if got := strings.Join(left, " "); got != want {
			t.Errorf("left under %s: %q, want %q", node, got, want)
		}
	}
	if !strings.HasPrefix(z.Info().Version, "ZooKeeper 3.") {
		t.Errorf("it is %q", z.Info().Version)
	}
}

func TestMetricsOfEtcd(t *testing.T) {
	t.Parallel()
	const types = "# TYPE grpc_server_msg_received_total counter\n# TYPE process_cpu_seconds_total counter\n"
	l, err := etcdLoad([]byte(types +
		"grpc_server_msg_received_total{grpc_method=\"Txn\"} 7\n" +
		"grpc_server_msg_received_total{grpc_method=\"Watch\"} 1e+03\n" +
		"grpc_server_msg_sent_total{grpc_method=\"Txn\"} 9\nprocess_cpu_seconds_total 1.25\n"))
	if err != nil || l.Commands != 1007 || l.CPU != 1250*time.Millisecond {
		t.Errorf("%+v, %v", l, err)
	}
	for _, text := range []string{"", types + "process_cpu_seconds_total much\n"} {
		if _, err := etcdLoad([]byte(text)); err == nil {
			t.Errorf("%q says something", text)
		}
	}
}
