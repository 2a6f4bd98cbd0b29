package lib

import (
	"context"
	"testing"

	"go.uber.org/goleak"

	"github.com/leasehold-go/leasehold/internal/needed"
	"github.com/leasehold-go/leasehold/lab/bench/internal/servers"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// session opens a session of a library on servers of the test's own. It skips the test if they are
// not installed.
func session(t *testing.T, l Library) (Session, servers.Backend) {
	t.Helper()
	pool := servers.New("")
	t.Cleanup(func() { noErr(t, pool.Close()) })
	at, err := pool.Get(context.Background(), l.On)
	if servers.Missing(err) && !needed.Servers() {
		t.Skip(err)
	}
	noErr(t, err)
	s, err := l.Open(Config{Addrs: at.Addrs()})
	noErr(t, err)
	t.Cleanup(func() { noErr(t, s.Close()) })
	return s, at
}

func noErr(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
