package driver

import "context"

// Exchanger is implemented by an engine that can release and take a name in one request.
type Exchanger interface {
	// Exchange is Release of before, and then Take of r, which is of the same key and another owner. released is the
	// outcome of the release, err that of the take, whatever became of the other.
	Exchange(ctx context.Context, before Release, r Request) (g Grant, released, err error)
}
