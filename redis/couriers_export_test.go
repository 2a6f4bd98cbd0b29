package redis

// IsTogether reports whether a script, by its hash, is the one that does several errands.
func (e *Engine) IsTogether(sha string) bool {
	e.place.mu.Lock()
	defer e.place.mu.Unlock()
	for _, s := range e.place.servers {
		if s.program.sha[together] == sha {
			return true
		}
	}
	return false
}

// MostBusy is how many couriers are under way at the same time.
const MostBusy = mostBusy

// Errands is how many couriers are away, and how many errands wait for them.
func (e *Engine) Errands() (away, waiting int) {
	e.couriers.mu.Lock()
	defer e.couriers.mu.Unlock()
	return e.couriers.busy, len(e.couriers.queue)
}

// EverSent reports whether any courier has gone in the last second or two.
func (e *Engine) EverSent() bool {
	e.couriers.mu.Lock()
	defer e.couriers.mu.Unlock()
	return e.couriers.used || e.couriers.sweep != nil
}

// Late is how many couriers are late.
func (e *Engine) Late() int {
	e.couriers.mu.Lock()
	defer e.couriers.mu.Unlock()
	return e.couriers.late
}
