package takelimit

import (
	"sync/atomic"
	"time"

	"github.com/leasehold-go/leasehold/internal/agenda"
)

// maxRenewals is how many renewals may be in flight to one server: enough for 80,000 in a second if an answer takes
// 100 ms. A server that is sent more than it can do in time answers everything too late. So does one that answers in
// time, if this process has too little processor time for the answers.
const maxRenewals = 8192

// Renewals is a batch of renewals. It is not late once half of it was answered: where leases are kept on several
// servers, one of them may be down.
type Renewals struct {
	entry   agenda.Entry[*Renewals]
	limiter *Limiter
	size    int
	maxTime time.Duration
	send    func(*Renewals)
	missing atomic.Int64 // answers to half of the batch
}

// Renew calls send in a new goroutine for a batch of n renewals that is due, as soon as fewer than maxRenewals are in
// flight. Batches are sent in the order of the calls. maxTime is how long a batch may take once it is sent; a batch
// counts as late, too, if it is not sent soon. send must call [Renewals.End].
func (l *Limiter) Renew(n int, maxTime time.Duration, send func(*Renewals)) {
	r := &Renewals{limiter: l, size: n, maxTime: maxTime, send: send}
	r.entry.Value = r
	r.missing.Store(int64(n+1) / 2)
	late := l.process.now() + lateAfter(maxTime)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.pendingRenewals.Set(&r.entry, late)
	l.unsentRenewals.PushBack(r)
	l.sendRenewalsLocked()
}

// HasUnsentRenewals reports whether batches wait until they may be sent. Another one would wait behind them.
func (l *Limiter) HasUnsentRenewals() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.unsentRenewals.Len() > 0
}

// sendRenewalsLocked sends the batches that may be sent.
func (l *Limiter) sendRenewalsLocked() {
	for l.unsentRenewals.Len() > 0 && l.sentRenewals < maxRenewals {
		r := l.unsentRenewals.Remove(l.unsentRenewals.Front()).(*Renewals)
		l.sentRenewals += r.size
		go r.send(r)
	}
}

// NoteAnswer notes that one renewal of the batch was answered.
func (r *Renewals) NoteAnswer() {
	if r.missing.Add(-1) != 0 {
		return
	}
	r.limiter.mu.Lock()
	defer r.limiter.mu.Unlock()
	r.limiter.pendingRenewals.Remove(&r.entry)
}

// End notes that the batch is over. If less than half of it was answered, renewals count as late for a time.
func (r *Renewals) End() {
	l := r.limiter
	until := l.process.now() + r.maxTime
	l.mu.Lock()
	defer l.mu.Unlock()
	l.pendingRenewals.Remove(&r.entry)
	if r.missing.Load() > 0 {
		l.lateUntil = max(l.lateUntil, until)
	}
	l.sentRenewals -= r.size
	l.sendRenewalsLocked()
}
