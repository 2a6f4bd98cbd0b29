package lib

import (
	"context"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/leasehold-go/leasehold/lab/bench/internal/checker"
	"github.com/leasehold-go/leasehold/lab/bench/internal/wire"
)

// A single session of etcd would let all goroutines hold the lock at once.
func TestEtcdExcludesGoroutinesOfOneClient(t *testing.T) {
	t.Parallel()
	s, _ := session(t, Etcd)
	first, err := s.Lock(t.Context(), "another")
	noErr(t, err)
	noErr(t, first.Release()) // its session is now idle and can be used again
	j := checker.New()
	var g errgroup.Group
	for i := range 8 {
		g.Go(func() error {
			for range 5 {
				held, err := s.Lock(t.Context(), "name")
				if err != nil {
					return err
				}
				j.Enter(uint64(i+1), held.Token)
				time.Sleep(100 * time.Microsecond)
				j.Leave(uint64(i + 1))
				if err := held.Release(); err != nil {
					return err
				}
			}
			return nil
		})
	}
	noErr(t, g.Wait())
	noErr(t, j.Err())
}

func TestEtcdGivesUpWithTheContext(t *testing.T) {
	t.Parallel()
	s, _ := session(t, Etcd)
	held, err := s.Lock(t.Context(), "name")
	noErr(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := s.Lock(ctx, "name"); err == nil {
		t.Error("it was granted twice")
	}
	noErr(t, held.Release())
	again, err := s.Lock(t.Context(), "name")
	noErr(t, err)
	noErr(t, again.Release())
}

func TestEtcdCountsWhatItSends(t *testing.T) {
	t.Parallel()
	_, at := session(t, Etcd)
	var sent wire.Counter
	s, err := Etcd.Open(Config{Addrs: at.Addrs(), Sent: &sent})
	noErr(t, err)
	defer s.Close()
	noErr(t, s.(Preparer).Prepare(1))
	began := time.Now()
	for sent.Commands() < 2 { // the first keep-alive follows the grant automatically
		if time.Since(began) > 30*time.Second {
			t.Fatalf("%d messages for a session, want a grant and a keep-alive", sent.Commands())
		}
		time.Sleep(time.Millisecond)
	}
	before := sent.Commands()
	held, err := s.Lock(t.Context(), "name")
	noErr(t, err)
	noErr(t, held.Release())
	if n := sent.Commands() - before; n != 2 {
		t.Errorf("%d messages for a free name, want one to lock and one to release", n)
	}
}
