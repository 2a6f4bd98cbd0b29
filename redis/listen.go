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

// polls reports whether waiters for a name must look themselves.
func (e *Engine) polls(n names) bool {
	if e.polling {
		return true
	}
	on := e.place.guess(n)
	if on == nil { // it was only looked at, as for a latch
		on = e.sights.guess(n)
	}
	return on != nil && on.mute
}

// hears reports whether waiters for a name would be told already, or never will be.
func (e *Engine) hears(n names) bool {
	if e.polls(n) {
		return true
	}
	if e.ears.open.Load() == 0 {
		return false
	}
	name, _ := e.channelOf(n)
	return e.ears.hears(name)
}

// listen sees to it that w is told, and returns when it is. Where nothing can be told, w must look itself.
func (e *Engine) listen(ctx context.Context, w *waiter, n names) error {
	name, sharded := e.channelOf(n)
	return e.listenTo(ctx, w, n, name, sharded)
}

func (e *Engine) listenTo(ctx context.Context, w *waiter, n names, name string, sharded bool) error {
	if e.polls(n) {
		w.told("-")
		return nil
	}
	var on *server
	if sharded {
		if on = e.place.guess(n); on == nil {
			on = e.sights.guess(n)
		}
	}
	switch err := e.ears.listen(ctx, w, name, on, sharded); {
	case errors.Is(err, errDeaf):
		if err != errDeaf {
			e.place.doubt(n, err)
		}
		w.told("-")
		return nil
	case err != nil:
		e.place.doubt(n, err)
		return err
	case sharded:
		w.told("S")
	default:
		w.told("P")
	}
	return nil
}
