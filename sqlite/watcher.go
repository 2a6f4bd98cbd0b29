package sqlite

import (
	"sync"
	"time"

	"github.com/leasehold-go/leasehold/driver"
)

const (
	// While somebody waits, the watcher looks whether the file has changed, which
	// neither reads it nor locks it: every millisecond after a change, and the less often the
	// longer nothing changes.
	quickest, slowest = time.Millisecond, 20 * time.Millisecond

	// A waiter counts as dead when its process has not said for so long that it lives.
	waiterLife   = 2 * time.Second
	refreshEvery = waiterLife / 4
)

// watcher waits for all callers of an engine. It has one goroutine, and only
// while somebody waits.
type watcher struct {
	engine  *Engine
	running sync.WaitGroup
	wake    chan struct{} // takes one

	mu     sync.Mutex
	active bool
	spots  map[driver.Key]*spot
	lastID int64 // of those who wait for latches
}

// spot is a key at which callers of this engine wait.
type spot struct {
	key     driver.Key
	callers map[int64]*caller // by id; guarded by the watcher's mu
	stirred bool              // something may have changed; guarded by the watcher's mu
	due     int64             // when to look although nothing has changed; the goroutine's own
}

func (w *watcher) init(e *Engine) {
	w.engine = e
	w.wake = make(chan struct{}, 1)
	w.spots = make(map[driver.Key]*spot)
}

// add makes the watcher look at a caller's key soon. It reports false if the engine is closed.
func (w *watcher) add(c *caller) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.engine.life.Err() != nil {
		return false
	}
	if c.id == 0 {
		w.lastID++
		c.id = w.lastID
	}
	s := w.spots[c.request.Key]
	if s == nil {
		s = &spot{key: c.request.Key, callers: make(map[int64]*caller)}
		w.spots[s.key] = s
	}
	s.callers[c.id] = c
	s.stirred = true
	w.signal()
	if !w.active {
		w.active = true
		w.running.Go(w.run)
	}
	return true
}

// remove forgets a caller. Nothing is done for it afterwards, except what is being
// committed at this moment.
func (w *watcher) remove(c *caller) {
	w.mu.Lock()
	defer w.mu.Unlock()
	s := w.spots[c.request.Key]
	if s == nil || s.callers[c.id] != c {
		return
	}
	delete(s.callers, c.id)
	if len(s.callers) == 0 {
		delete(w.spots, s.key)
		w.signal() // the last of all ends the goroutine
	}
}

// stir says that a key has been changed by this engine.
func (w *watcher) stir(k driver.Key) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if s := w.spots[k]; s != nil {
		s.stirred = true
		w.signal()
	}
}

func (w *watcher) signal() {
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

// stop ends the engine's life, and returns when the goroutine has ended.
func (w *watcher) stop() {
	w.mu.Lock() // whoever is adding a caller has started the goroutine then
	w.engine.kill()
	w.mu.Unlock()
	w.running.Wait()
}

func (w *watcher) run() {
	e := w.engine
	var version int64
	var refreshed time.Time
	pace := quickest
	timer := time.NewTimer(pace)
	defer timer.Stop()
	for {
		began := time.Now()
		changed := e.changedByOthers(&version)
		spots, somebody := w.pick(changed)
		if !somebody {
			return
		}
		for _, s := range spots {
			w.serve(s)
			w.refreshInTime(&refreshed)
		}
		w.refreshInTime(&refreshed)
		pace = min(pace*5/4, slowest)
		if changed || len(spots) > 0 {
			pace = quickest
		}
		// With thousands of keys a look takes long: rest as long, lest it takes a whole core.
		timer.Reset(max(pace, min(time.Since(began), refreshEvery/2)))
		select {
		case <-timer.C:
		case <-w.wake:
		case <-e.life.Done():
			return
		}
	}
}

func (w *watcher) refreshInTime(last *time.Time) {
	if time.Since(*last) >= refreshEvery {
		*last = time.Now()
		w.refresh()
	}
}

// pick returns the spots that must be looked at, and whether anybody waits at all. If nobody does,
// the goroutine must end.
func (w *watcher) pick(all bool) (spots []*spot, somebody bool) {
	now := w.engine.clock.now()
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.spots) == 0 {
		w.active = false
		return nil, false
	}
	for _, s := range w.spots {
		if all || s.stirred || now >= s.due {
			s.stirred = false
			spots = append(spots, s)
		}
	}
	return spots, true
}

// callerAt returns who waits at a spot with this id, or nil.
func (w *watcher) callerAt(s *spot, id int64) *caller {
	w.mu.Lock()
	defer w.mu.Unlock()
	return s.callers[id]
}

// callersAt returns all who wait at a spot.
func (w *watcher) callersAt(s *spot) []*caller {
	w.mu.Lock()
	defer w.mu.Unlock()
	all := make([]*caller, 0, len(s.callers))
	for _, c := range s.callers {
		all = append(all, c)
	}
	return all
}

// tell ends a caller's waiting.
func (w *watcher) tell(c *caller, a answer) {
	w.remove(c)
	select {
	case c.answer <- a:
	default: // told before
	}
}

// changedByOthers reports whether another connection than the one that this engine writes with has changed the
// file since the last call. See https://www.sqlite.org/pragma.html#pragma_data_version.
func (e *Engine) changedByOthers(version *int64) bool {
	if err := e.enter(e.life); err != nil {
		return false
	}
	defer e.leave()
	var now int64
	if err := e.fast.row([]any{&now}, "PRAGMA data_version"); err != nil {
		return true // looking at the file will show what is wrong
	}
	changed := now != *version
	*version = now
	return changed
}
