package redis

import (
	"context"
	"errors"
)

// channelOf returns the channel on which waiters for a name are told, and whether it is a sharded one. In a Cluster it
// is in the slot of the name, so that the script that hands over may use it; elsewhere one serves all names.
func (e *Engine) channelOf(n names) (name string, sharded bool) {
	if e.place.clustered() {
		return n.beside + "wake:" + e.ears.process, true
	}
	return e.prefix + "wake:" + e.ears.process, false
}

// hears reports whether waiters for a name would be told already.
func (e *Engine) hears(n names) bool {
	name, _ := e.channelOf(n)
	return e.polling || e.ears.hears(name)
}

// listen sees to it that w is told, and returns when it is. Where nothing can be told, w must look itself.
func (e *Engine) listen(ctx context.Context, w *waiter, n names) error {
	name, sharded := e.channelOf(n)
	return e.listenTo(ctx, w, n, name, sharded)
}

func (e *Engine) listenTo(ctx context.Context, w *waiter, n names, name string, sharded bool) error {
	if e.polling {
		w.told("-")
		return nil
	}
	var on *server
	if sharded {
		on = e.place.guess(n.slot)
	}
	switch err := e.ears.listen(ctx, w, name, on, sharded); {
	case errors.Is(err, errForbidden):
		w.told("-")
		return nil
	case err != nil:
		return err
	case sharded:
		w.told("S")
	default:
		w.told("P")
	}
	return nil
}
