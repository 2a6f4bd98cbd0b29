package redis

import (
	"context"
	"time"

	"github.com/leasehold-go/leasehold/driver"
)

// Opens returns when the server grants leases again, about, and the zero time if it does now. It goes by what the last request has
// found out, and sends nothing; only if there was none, the server is asked what it is. It is for engines on one server.
func (e *Engine) Opens(ctx context.Context) (time.Time, error) {
	if e.ears.closed() {
		return time.Time{}, errClosed
	}
	on := e.place.guess(names{})
	if on == nil {
		var err error
		if on, err = e.place.server(ctx, e.names(driver.Key{Kind: driver.Lock, Name: "any"}), false); err != nil {
			return time.Time{}, err
		}
	}
	if left := e.place.gate(names{}, on).closedFor(); left > 0 {
		return time.Now().Add(left), nil
	}
	return time.Time{}, nil
}
