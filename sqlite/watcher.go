package sqlite

import (
	"sync"
	"time"

	"github.com/leasehold-go/leasehold/driver"
)

const (
	// While somebody waits, the watcher polls whether the file has changed, which neither reads nor locks it: every
	// millisecond after a change, and less often the longer nothing changes.
	minPoll, maxPoll = time.Millisecond, 20 * time.Millisecond

	// A waiter counts as dead if its process has not refreshed it for so long.
	waiterTTL    = 2 * time.Second
	refreshEvery = waiterTTL / 4
)

// watcher waits for all callers of an engine. It has one goroutine, and only while somebody waits.
type watcher struct {
	engine  *Engine
	running sync.WaitGroup
	wake    chan struct{} // has room for one

	mu     sync.Mutex
	active bool
	keys   map[driver.Key]*waitedKey
	lastID int64 // of callers that wait for latches
}

// waitedKey is a key at which callers of this engine wait.
type waitedKey struct {
	key     driver.Key
	callers map[int64]*caller // by id; guarded by watcher.mu
	changed bool              // something may have changed; guarded by watcher.mu
	due     int64             // when to check although nothing has changed; only for the watcher's goroutine
}

func (w *watcher) init(e *Engine) {
	w.engine = e
	w.wake = make(chan struct{}, 1)
	w.keys = make(map[driver.Key]*waitedKey)
}

// add makes the watcher check a caller's key soon. It reports false if the engine is closed.
func (w *watcher) add(c *caller) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.engine.ctx.Err() != nil {
		return false
	}
	if c.id == 0 {
		w.lastID++
		c.id = w.lastID
	}
	wk := w.keys[c.request.Key]
	if wk == nil {
		wk = &waitedKey{key: c.request.Key, callers: make(map[int64]*caller)}
		w.keys[wk.key] = wk
	}
	wk.callers[c.id] = c
	wk.changed = true
	w.wakeUp()
	if !w.active {
		w.active = true
		w.running.Go(w.run)
	}
	return true
}

// remove forgets a caller. Nothing is done for it afterwards, except what is being committed at this moment.
func (w *watcher) remove(c *caller) {
	w.mu.Lock()
	defer w.mu.Unlock()
	wk := w.keys[c.request.Key]
	if wk == nil || wk.callers[c.id] != c {
		return
	}
	delete(wk.callers, c.id)
	if len(wk.callers) == 0 {
		delete(w.keys, wk.key)
		w.wakeUp() // the last one ends the goroutine
	}
}

// noteChanged notes that this engine has changed a key.
func (w *watcher) noteChanged(k driver.Key) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if wk := w.keys[k]; wk != nil {
		wk.changed = true
		w.wakeUp()
	}
}

func (w *watcher) wakeUp() {
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

// stop cancels the engine's context, and returns when the goroutine has ended.
func (w *watcher) stop() {
	w.mu.Lock() // a concurrent add has started the goroutine then
	w.engine.cancel()
	w.mu.Unlock()
	w.running.Wait()
}

func (w *watcher) run() {
	e := w.engine
	var version int64
	var refreshed time.Time
	pause := minPoll
	timer := time.NewTimer(pause)
	defer timer.Stop()
	for {
		began := time.Now()
		changed := e.changedByOthers(&version)
		keys, anybody := w.keysToCheck(changed)
		if !anybody {
			return
		}
		for _, wk := range keys {
			w.grantWaiters(wk)
			w.refreshIfDue(&refreshed)
		}
		w.refreshIfDue(&refreshed)
		pause = min(pause*5/4, maxPoll)
		if changed || len(keys) > 0 {
			pause = minPoll
		}
		// With thousands of keys a round takes long: rest as long, so that it does not take a whole core.
		timer.Reset(max(pause, min(time.Since(began), refreshEvery/2)))
		select {
		case <-timer.C:
		case <-w.wake:
		case <-e.ctx.Done():
			return
		}
	}
}

func (w *watcher) refreshIfDue(last *time.Time) {
	if time.Since(*last) >= refreshEvery {
		*last = time.Now()
		w.refreshWaiters()
	}
}

// keysToCheck returns the keys that must be checked, and whether anybody waits at all. If nobody does, the goroutine
// must end.
func (w *watcher) keysToCheck(all bool) (keys []*waitedKey, anybody bool) {
	now := w.engine.clock.now()
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.keys) == 0 {
		w.active = false
		return nil, false
	}
	for _, wk := range w.keys {
		if all || wk.changed || now >= wk.due {
			wk.changed = false
			keys = append(keys, wk)
		}
	}
	return keys, true
}

// callerAt returns the caller at a key with this id, or nil.
func (w *watcher) callerAt(wk *waitedKey, id int64) *caller {
	w.mu.Lock()
	defer w.mu.Unlock()
	return wk.callers[id]
}

// callersAt returns all callers at a key.
func (w *watcher) callersAt(wk *waitedKey) []*caller {
	w.mu.Lock()
	defer w.mu.Unlock()
	all := make([]*caller, 0, len(wk.callers))
	for _, c := range wk.callers {
		all = append(all, c)
	}
	return all
}

// answerCaller ends the wait of a caller.
func (w *watcher) answerCaller(c *caller, a answer) {
	w.remove(c)
	select {
	case c.answer <- a:
	default: // answered before
	}
}

// changedByOthers reports whether the file was changed since the last call by another connection than the one that this
// engine writes with. See https://www.sqlite.org/pragma.html#pragma_data_version.
func (e *Engine) changedByOthers(version *int64) bool {
	if err := e.lockWriter(e.ctx); err != nil {
		return false
	}
	defer e.unlockWriter()
	var now int64
	if err := e.fast.row([]any{&now}, "PRAGMA data_version"); err != nil {
		return true // reading the file will show what is wrong
	}
	changed := now != *version
	*version = now
	return changed
}
