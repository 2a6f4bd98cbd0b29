package postgres_test

import (
	"strings"
	"testing"
	"time"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/postgres"
)

// Operators learn that grants are closed after a crash, also before anybody has asked for a lock.
func TestGrantsClosedAfterACrash(t *testing.T) {
	t.Parallel()
	s := durableServer(t)
	e := engineOn(t, s)
	closed, err := e.GrantsClosed(t.Context(), driver.Key{})
	if closed != nil || err != nil {
		t.Fatalf("new tables: %v, %v", closed, err)
	}
	crash(t, s)
	for _, what := range []string{"nobody has noticed", "noticed"} {
		closed, err = engineOn(t, s).GrantsClosed(t.Context(), driver.Key{Kind: driver.Lock, Name: "name"})
		if err != nil || closed == nil || !strings.Contains(closed.Error(), "because the server has crashed") ||
			time.Until(closed.Open) > postgres.DefaultMaxTTL {
			t.Fatalf("%s: %v, %v", what, closed, err)
		}
		r := lock("name")
		r.Join = true
		if _, err := e.Take(t.Context(), r); err == nil || strings.Contains(err.Error(), "held") {
			t.Errorf("%s: Take answers %v", what, err)
		}
	}
	closed, err = engineOn(t, s, postgres.WithoutCrashGuard()).GrantsClosed(t.Context(), driver.Key{})
	if closed != nil || err != nil {
		t.Errorf("without the guard: %v, %v", closed, err)
	}
}
