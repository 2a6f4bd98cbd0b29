package lib

import (
	"context"
	"os"
	"testing"

	"go.uber.org/goleak"

	"github.com/leasehold-go/leasehold/bench/internal/place"
	"github.com/leasehold-go/leasehold/internal/redisserver"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// session opens a session of a library on a place of the test's own, which is skipped if its server is not installed.
func session(t *testing.T, l Library) (Session, place.Place) {
	t.Helper()
	places := place.New("")
	t.Cleanup(func() { noErr(t, places.Close()) })
	at, err := places.Of(context.Background(), l.On)
	if place.Missing(err) && mayLack(l.On) {
		t.Skip(err)
	}
	noErr(t, err)
	s, err := l.Open(At{Addrs: at.Addrs()})
	noErr(t, err)
	t.Cleanup(func() { noErr(t, s.Close()) })
	return s, at
}

// mayLack reports whether a test may be skipped without the servers of a kind. Redis is wanted where everything is tested.
func mayLack(k place.Kind) bool {
	return k == place.OneEtcd || os.Getenv("CI")+os.Getenv(redisserver.NeedEnv) == ""
}

func noErr(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
