package leasehold_test

import (
	"context"
	"errors"
	"math"
	"testing"
	"testing/synctest"
	"time"

	"github.com/leasehold-go/leasehold"
	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/memory"
)

// A grant with an impossible token is refused: the outcome is unknown to the caller, and what the owner may have is
// released.
func TestImpossibleTokensAreRefused(t *testing.T) {
	t.Parallel()
	for _, g := range []driver.Grant{
		{}, {Token: driver.MaxToken + 1}, {Token: math.MaxUint64}, {Token: driver.MaxToken, Tokens: 2},
		{Token: 1, Tokens: -1}, {Token: 2, Tokens: math.MaxInt},
	} {
		synctest.Test(t, func(t *testing.T) {
			e := &recorded{Engine: memory.New(), take: func(context.Context, driver.Request) (driver.Grant, error) {
				return g, nil
			}}
			c := leasehold.New(e)
			if lease, err := c.Mutex("a").TryLock(t.Context()); !errors.Is(err, leasehold.ErrUnavailable) {
				t.Errorf("%+v became the lease %v, %v", g, lease, err)
			}
			time.Sleep(time.Minute) // for the background work
			if e.mu.Lock(); len(e.releases) == 0 || len(e.broken) > 0 {
				t.Errorf("%+v: what was granted is released %d times; owners %q are used again", g, len(e.releases),
					e.broken)
			}
			e.mu.Unlock()
			if err := c.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}
