package quorum

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/leasehold-go/leasehold/driver"
)

// contendedFor is how long a name counts as contended after it was found held.
const contendedFor = 2 * time.Second

// Take implements [driver.Engine]: it asks all nodes. A caller that would wait does not even try if the name was found
// held a moment ago.
func (e *Engine) Take(ctx context.Context, r driver.Request) (driver.Grant, error) {
	if r.Kind != driver.Lock || r.Mode != driver.Exclusive {
		return driver.Grant{}, driver.Permanent(errUnsupported)
	}
	if err := ctx.Err(); err != nil {
		return driver.Grant{}, driver.NoEffect(err)
	}
	c := e.calls.begin(r, len(e.nodes))
	defer e.calls.endUse(c)
	if r.Join && e.contended.Has(r.Key) {
		e.calls.noteWaiting(c)
		return driver.Grant{}, driver.ErrHeld
	}
	o := e.calls.usableOwner(c)
	g, err := e.newBallot(r, o).run(ctx)
	switch {
	case err == nil:
		return g, nil
	case r.Join && errors.Is(err, driver.ErrHeld):
		e.contended.Add(r.Key, contendedFor)
		e.calls.noteWaiting(c)
		return g, err // not a spent owner: Wait goes on as another one if it must
	case driver.HadNoEffect(err):
		e.calls.noteNoEffect(c)
	}
	if o.mayBeSpent() {
		err = driver.Spent(err)
	}
	return g, err
}

var errUnsupported = fmt.Errorf("a quorum has neither readers nor permits: " +
	"majorities of different holders overlap, so nobody could count them; use one Redis, or another engine")
