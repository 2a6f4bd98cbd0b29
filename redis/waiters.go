package redis

import (
	"crypto/rand"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/leasehold-go/leasehold/driver"
)

// waiters are the owners of this process that wait, or may wait.
type waiters struct {
	forget func(*waiter) // called with each waiter that is removed
	count  atomic.Int32  // how many waiters there are

	mu         sync.Mutex
	byOwner    map[string]*waiter
	byTicket   map[string]*waiter
	byNumber   map[string]*waiter // by the number of the ticket
	byKey      map[driver.Key]int // how many wait for each
	lastTicket uint64
	left       map[string]driver.Key // by ticket, only on a node of redlock: waiters that have given up
}

func (ws *waiters) init(forget func(*waiter)) {
	ws.forget = forget
	ws.byOwner, ws.byKey = map[string]*waiter{}, map[driver.Key]int{}
	ws.byTicket, ws.byNumber = map[string]*waiter{}, map[string]*waiter{}
}

// hasKey reports whether anybody in this process waits for a key.
func (ws *waiters) hasKey(k driver.Key) bool {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	return ws.byKey[k] > 0
}

// findTicket returns the waiter with a ticket. Only that of a grant names all of it.
func (ws *waiters) findTicket(ticket string, isGrant bool) *waiter {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	if isGrant {
		return ws.byTicket[ticket]
	}
	return ws.byNumber[ticket]
}

// add returns the waiter of an owner, a new one if there is none.
func (ws *waiters) add(owner string, k driver.Key) *waiter {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	w := ws.byOwner[owner]
	if w == nil {
		ws.lastTicket++
		w = newWaiter()
		w.key, w.ticket = k, newTicket(ws.lastTicket)
		ws.byOwner[owner], ws.byTicket[w.ticket], ws.byNumber[w.ticketNumber()] = w, w, w
		ws.byKey[k]++
		ws.count.Add(1)
	}
	return w
}

// ticketNumber returns the part of the ticket that is no secret.
func (w *waiter) ticketNumber() string {
	number, _, _ := strings.Cut(w.ticket, "-")
	return number
}

// newTicket returns the ticket with a number.
func newTicket(number uint64) string {
	var secret [8]byte
	_, _ = rand.Read(secret[:]) // never fails
	return fmt.Sprintf("%d-%x", number, secret)
}

// remove drops the waiter of an owner, if there is one.
func (ws *waiters) remove(owner string) {
	if ws.count.Load() == 0 {
		return
	}
	ws.mu.Lock()
	w := ws.byOwner[owner]
	if w != nil {
		ws.count.Add(-1)
		delete(ws.byOwner, owner)
		delete(ws.byTicket, w.ticket)
		delete(ws.byNumber, w.ticketNumber())
		if ws.byKey[w.key]--; ws.byKey[w.key] == 0 {
			delete(ws.byKey, w.key)
		}
	}
	ws.mu.Unlock()
	if w != nil {
		ws.forget(w)
	}
}
