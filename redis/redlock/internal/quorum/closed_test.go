package quorum

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/leasehold-go/leasehold/driver"
)

// Grants are closed from when too few nodes grant, until enough of them do. The error of a take that fails
// for that alone says so, and not that somebody holds the name.
func TestGrantsClosedByTooManyNodes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newTestQuorum(t, 3)
		e := s.client(steady)
		s.nodes[0].crash(0, false)
		if closed, err := e.GrantsClosed(t.Context(), key); closed != nil || err != nil {
			t.Errorf("a majority grants: %v, %v", closed, err)
		}
		s.nodes[1].crash(0, false)
		closed, err := e.GrantsClosed(t.Context(), driver.Key{})
		if err != nil || closed == nil || time.Until(closed.Open) < 59*time.Second ||
			time.Until(closed.Open) > time.Minute ||
			!strings.Contains(closed.Error(), "of 3 servers, 2 restarted or promoted, ") {
			t.Fatalf("two of three grant nothing: %v, %v", closed, err)
		}
		for _, join := range []bool{false, true} {
			r := request(fmt.Sprint("owner that waits: ", join))
			r.Join = join
			_, err = e.Take(t.Context(), r)
			found, ok := errors.AsType[*driver.GrantsClosedError](err)
			if !ok || found.Open.Sub(closed.Open).Abs() > time.Second ||
				errors.Is(err, driver.ErrHeld) != join || !strings.HasPrefix(err.Error(), "grants are closed until ") {
				t.Errorf("Take, and to wait: %v: %v", join, err)
			}
			_ = e.Release(t.Context(), driver.Release{Hold: driver.Hold{Key: r.Key, Owner: r.Owner}})
		}
		time.Sleep(2 * time.Minute)
		if closed, err = e.GrantsClosed(t.Context(), key); closed != nil || err != nil {
			t.Errorf("all grant again: %v, %v", closed, err)
		}
	})
}
