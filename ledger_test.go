package leasehold

import "sync"

// ledger counts what the events of observers say of each name. Whoever counts on from them must come out at nothing once nobody waits and
// nobody holds: each call that waits ends its wait once, and each lease that is granted ends once, whatever happens.
type ledger struct {
	mu            sync.Mutex
	waiting, held map[string]int
	wrong         []string // what no sequence of events may show
}

func (l *ledger) count(of *map[string]int, name string, n int) (sum int) {
	if *of == nil {
		*of = map[string]int{}
	}
	(*of)[name] += n
	return (*of)[name]
}

// ended is the end of a wait, if there was one. mu is held.
func (l *ledger) ended(name string, afterWait bool) {
	if afterWait && l.count(&l.waiting, name, -1) < 0 {
		l.wrong = append(l.wrong, "more waits for "+name+" have ended than begun")
	}
}

// ObserveWait implements WaitObserver.
func (l *ledger) ObserveWait(e Waiting) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case !e.Again:
		l.count(&l.waiting, e.Name, 1)
	case e.Local, l.waiting[e.Name] < 1:
		l.wrong = append(l.wrong, "a wait for "+e.Name+" goes on that had not begun")
	}
}

// ObserveGrant implements GrantObserver.
func (l *ledger) ObserveGrant(e Granted) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ended(e.Name, e.AfterWait)
	l.count(&l.held, e.Name, 1)
}

// ObserveFail implements FailObserver.
func (l *ledger) ObserveFail(e Failed) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ended(e.Name, e.AfterWait)
}

// ObserveLost implements LostObserver.
func (l *ledger) ObserveLost(e Lost) { l.over(e.Name) }

// ObserveRelease implements ReleaseObserver.
func (l *ledger) ObserveRelease(e Released) { l.over(e.Name) }

// over is the end of a lease. It may be told before the grant: the caller of Lock comes to run when it may.
func (l *ledger) over(name string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.count(&l.held, name, -1)
}

// balance judges the ledger when nobody waits and nobody holds.
func (w *world) balance() {
	w.ledger.mu.Lock()
	defer w.ledger.mu.Unlock()
	for _, wrong := range w.ledger.wrong {
		w.errorf("by the events, %s", wrong)
	}
	for name, n := range w.ledger.waiting {
		if n != 0 {
			w.errorf("by the events, %d calls wait for %s at the end", n, name)
		}
	}
	for name, n := range w.ledger.held {
		if n != 0 {
			w.errorf("by the events, %d leases of %s are held at the end", n, name)
		}
	}
}
