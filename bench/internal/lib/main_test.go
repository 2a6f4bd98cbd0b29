package lib

import (
	"context"
	"testing"

	"go.uber.org/goleak"

	"github.com/leasehold-go/leasehold/bench/internal/place"
	"github.com/leasehold-go/leasehold/internal/needed"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// session opens a session of a library on a place of the test's own, which is skipped if its server is not installed.
func session(t *testing.T, l Library) (Session, place.Place) {
	t.Helper()
	places := place.New("")
	t.Cleanup(func() { noErr(t, places.Close()) })
	at, err := places.Of(context.Background(), l.On)
	if place.Missing(err) && !needed.Servers() {
		t.Skip(err)
	}
	noErr(t, err)
	s, err := l.Open(At{Addrs: at.Addrs()})
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
