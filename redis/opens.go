package redis

import (
	"context"
	"time"
)

// Opens returns when the server grants leases again, about, and the zero time if it does now. It goes by what the last request has
// found out, and sends nothing; only if nobody has locked yet by this engine, the server is asked, which leaves no marker there: a server that nobody has
// seen in use opens a while after the first request for a lock. It is for engines on one server.
func (e *Engine) Opens(ctx context.Context) (time.Time, error) {
	if e.ears.closed() {
		return time.Time{}, errClosed
	}
	var left time.Duration
	if on := e.place.guess(names{}); on != nil {
		left = e.place.gate(names{}, on).closedFor()
	} else if e.guard {
		var err error
		if left, err = e.closedBy(ctx); err != nil {
			return time.Time{}, noEffect(err)
		}
	}
	if left <= 0 {
		return time.Time{}, nil
	}
	return time.Now().Add(left), nil
}
