package redis

import (
	"context"
	"time"
)

// Opens returns roughly when the server grants leases again, or the zero time if it grants now. It goes by what the
// last request found out, and sends nothing. Only if this engine has not been used for locking yet does it ask the
// server, without leaving a marker: a server that nobody has seen in use opens some time after the first request for a
// lock. It is for engines on one server.
func (e *Engine) Opens(ctx context.Context) (time.Time, error) {
	if e.subscriptions.isClosed() {
		return time.Time{}, errClosed
	}
	var left time.Duration
	if srv := e.router.cachedServer(names{}); srv != nil {
		left = e.router.markerOf(names{}, srv).closedFor()
	} else if e.guard {
		var err error
		if left, err = e.askClosedFor(ctx); err != nil {
			return time.Time{}, noEffect(err)
		}
	}
	if left <= 0 {
		return time.Time{}, nil
	}
	return time.Now().Add(left), nil
}
