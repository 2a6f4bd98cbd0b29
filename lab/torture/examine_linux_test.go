package torture

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/leasehold-go/leasehold"
	"github.com/leasehold-go/leasehold/admin"
)

// wrongClocks returns the servers whose clocks are reported as wrong; "" stands for this machine's
// clock.
func wrongClocks(t *testing.T, c client) (found []string) {
	t.Helper()
	var x admin.Examination
	await(t, "the servers are examined", func() (done bool) {
		var err error
		if x, err = c.ops.Examine(t.Context()); err != nil && !errors.Is(err, leasehold.ErrUnavailable) {
			t.Fatal(err)
		}
		return err == nil
	})
	for _, f := range x.Findings {
		if f.Code == "clock-difference" {
			found = append(found, fmt.Sprint(f.Severity, " ", f.Server))
		}
	}
	return found
}

// A clock that is ten seconds off is reported, on whichever server it is, and once.
func TestClocksThatAreWrongAreFound(t *testing.T) {
	t.Parallel()
	var servers []shifted
	var addresses []string
	library := clockShift(t)
	for range 3 {
		s := startShifted(t, library)
		servers, addresses = append(servers, s), append(addresses, s.Addr())
	}
	one, all := open(t, addresses[0]), openRedlock(t, addresses)
	want := func(c client, servers ...string) {
		t.Helper()
		if found := wrongClocks(t, c); !slices.Equal(found, servers) {
			t.Errorf("found %q, want %q", found, servers)
		}
	}
	want(one)
	want(all)
	servers[0].shift(t, 10*time.Second)
	want(one, "warning "+addresses[0])
	want(all, "warning "+addresses[0])
	servers[1].shift(t, -10*time.Second)
	want(all, "warning "+addresses[0], "warning "+addresses[1])
	servers[1].shift(t, 10*time.Second)
	servers[2].shift(t, 10*time.Second)
	want(all, "warning ") // three agree, so it must be this machine's clock
}
