package zookeeper

import (
	"context"
	"crypto/rand"
	"flag"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/internal/needed"
	"github.com/leasehold-go/leasehold/internal/zookeeperserver"
)

// parallelTests is how many tests run at the same time, unless -parallel sets another number. They mostly wait: for
// leases to expire, and for servers.
const parallelTests = "16"

func TestMain(m *testing.M) {
	if err := flag.Set("test.parallel", parallelTests); err != nil {
		panic(err)
	}
	goleak.VerifyTestMain(suite{m})
}

// suite runs the tests of the package, which share a server.
type suite struct{ *testing.M }

func (s suite) Run() int {
	defer func() {
		if shared := sharedServer.server; shared != nil {
			_ = shared.Close() // it ends with this process in any case
		}
	}()
	return s.M.Run()
}

var sharedServer struct {
	once   sync.Once
	server *zookeeperserver.Server
	err    error
}

// server returns the server for tests that do not break it and use names of their own.
func server(t testing.TB) *zookeeperserver.Server {
	t.Helper()
	sharedServer.once.Do(func() {
		sharedServer.server, sharedServer.err = zookeeperserver.Start(zookeeperserver.Config{MaxSession: longSession})
	})
	needed.Started(t, sharedServer.err, zookeeperserver.ErrMissing)
	return sharedServer.server
}

// longSession is a timeout that never passes while a test runs, however slow the machine is.
const longSession = 15 * time.Minute

// openAt opens an engine that is closed with the test.
func openAt(t testing.TB, s *zookeeperserver.Server, opts ...Option) *Engine {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	e, err := New(ctx, []string{s.Addr()}, opts...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	})
	return e
}

// runs has a text for each test, which makes its names unique on the shared server.
var runs sync.Map

// lock returns a request for a lock of the test, by a new owner, for 15 seconds.
func lock(t testing.TB, name string) driver.Request {
	run, _ := runs.LoadOrStore(t, rand.Text())
	return driver.Request{
		Key:    driver.Key{Kind: driver.Lock, Name: run.(string) + "/" + name},
		Owner:  rand.Text(),
		Size:   1,
		Weight: 1,
		TTL:    15 * time.Second,
		Tokens: 1,
		Holder: "test",
	}
}

func hold(r driver.Request) driver.Hold {
	return driver.Hold{Key: r.Key, Owner: r.Owner, Mode: r.Mode}
}

func mustTake(t testing.TB, e *Engine, r driver.Request) driver.Grant {
	t.Helper()
	g, err := e.Take(t.Context(), r)
	if err != nil {
		t.Fatalf("Take: %v", err)
	}
	return g
}

func mustRelease(t testing.TB, e *Engine, r driver.Request) {
	t.Helper()
	if err := e.Release(context.Background(), driver.Release{Hold: hold(r)}); err != nil {
		t.Fatalf("Release: %v", err)
	}
}

// eventually waits until a server or another goroutine has done something.
func eventually(t testing.TB, what string, is func() bool) {
	t.Helper()
	for end := time.Now().Add(30 * time.Second); !is(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("it never happened that %s", what)
		}
	}
}

// ownServer starts a server for one test.
func ownServer(t testing.TB) *zookeeperserver.Server {
	t.Helper()
	return zookeeperserver.ForTest(t, zookeeperserver.Config{MaxSession: longSession})
}
