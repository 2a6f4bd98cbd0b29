package leasehold

import "sync"

// eventBalance counts what observers are told about each name. Every count must be zero once nobody waits and nobody
// holds: each call that waits ends its wait once, and each lease that is granted ends once.
type eventBalance struct {
	mu            sync.Mutex
	waiting, held map[string]int
	wrong         []string // what must not happen in any sequence of events
}

func (l *eventBalance) add(of *map[string]int, name string, n int) (sum int) {
	if *of == nil {
		*of = map[string]int{}
	}
	(*of)[name] += n
	return (*of)[name]
}

// noteWaitEndedLocked counts the end of a wait, if there was one.
func (l *eventBalance) noteWaitEndedLocked(name string, afterWait bool) {
	if afterWait && l.add(&l.waiting, name, -1) < 0 {
		l.wrong = append(l.wrong, "more waits for "+name+" have ended than begun")
	}
}

// ObserveWait implements WaitObserver.
func (l *eventBalance) ObserveWait(e Waiting) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case !e.Again:
		l.add(&l.waiting, e.Name, 1)
	case e.Local, l.waiting[e.Name] < 1:
		l.wrong = append(l.wrong, "a wait for "+e.Name+" goes on that had not begun")
	}
}

// ObserveGrant implements GrantObserver.
func (l *eventBalance) ObserveGrant(e Granted) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.noteWaitEndedLocked(e.Name, e.AfterWait)
	l.add(&l.held, e.Name, 1)
}

// ObserveFail implements FailObserver.
func (l *eventBalance) ObserveFail(e Failed) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.noteWaitEndedLocked(e.Name, e.AfterWait)
}

// ObserveLost implements LostObserver.
func (l *eventBalance) ObserveLost(e Lost) { l.noteLeaseEnded(e.Name) }

// ObserveRelease implements ReleaseObserver.
func (l *eventBalance) ObserveRelease(e Released) { l.noteLeaseEnded(e.Name) }

// noteLeaseEnded counts the end of a lease. It may come before the grant, because the caller of Lock may run later.
func (l *eventBalance) noteLeaseEnded(name string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.add(&l.held, name, -1)
}

// checkBalance checks the counts when nobody waits and nobody holds.
func (w *simulation) checkBalance() {
	w.balance.mu.Lock()
	defer w.balance.mu.Unlock()
	for _, wrong := range w.balance.wrong {
		w.errorf("by the events, %s", wrong)
	}
	for name, n := range w.balance.waiting {
		if n != 0 {
			w.errorf("by the events, %d calls wait for %s at the end", n, name)
		}
	}
	for name, n := range w.balance.held {
		if n != 0 {
			w.errorf("by the events, %d leases of %s are held at the end", n, name)
		}
	}
}
