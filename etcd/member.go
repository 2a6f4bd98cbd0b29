package etcd

import (
	"context"
	"sync"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/internal/overdue"
)

// member is what this process knows of a place that it has put on a server, or has tried to.
type member struct {
	driver.Key
	owner, mark string
	number      int // which no other owner of the name has

	// Guarded by members.mu.
	home string // the key that it has of this engine
	whereabouts
	uses    int // calls that work with it
	waits   int // those that wait, while which it has no end
	granted bool
	left    bool               // it may be kept, and nobody's
	on      *session           // the session of the key; nil if it is another's
	leases  []clientv3.LeaseID // those that the key may be on
	late    int                // how many removals it still takes, since a request may yet arrive; 0 if all outcomes are known
	astray  bool               // one that puts the key there may come later still
	strays  bool               // one that removes the key may
	end     time.Time
	ending  chan struct{} // set when the end has come, which nothing can undo; closed when the key is gone
	read    sighting      // what a Take that was refused has read, for the Wait that follows
	next    *member       // another owner of the same key
}

// sighting is a line as it was at a revision; nothing was read if that is 0.
type sighting struct {
	line     line
	revision int64
}

// members ends what is not renewed: the server only knows how long a session lasts, which may be alive for the sake of other locks.
type members struct {
	engine *Engine
	id     string // what the keys of this engine have in common, until a removal has an unknown outcome
	book   *overdue.Book[*member]
	// lateness is how long a request is reckoned with that nobody waits for any more: longer than servers work on it that are well.
	lateness time.Duration

	rivals rivals

	mu  sync.Mutex
	all map[driver.Key]*member
}

func (ms *members) init(e *Engine) {
	ms.engine, ms.all, ms.lateness = e, make(map[driver.Key]*member), defaultLateness
	ms.move()
	ms.book = overdue.New(ms.expire)
}

func (ms *members) close() { ms.book.Close() }

// find returns the member of an owner, or nil. mu is held.
func (ms *members) find(k driver.Key, owner string) *member {
	m := ms.all[k]
	for m != nil && m.owner != owner {
		m = m.next
	}
	return m
}

// enter returns the member of an owner for a call that ends with leave. If its end has come, enter waits until it is gone from the server,
// so that who comes again is a new one.
func (ms *members) enter(ctx context.Context, k driver.Key, owner string) (*member, error) {
	for {
		ms.mu.Lock()
		m := ms.find(k, owner)
		if m == nil {
			m = &member{Key: k, owner: owner, mark: markOf(owner), number: ms.number(k), next: ms.all[k]}
			m.home = ms.engine.places(k).place(ms.id, m.number)
			m.path = m.home
			ms.all[k] = m
		}
		ending := m.ending
		if ending == nil {
			m.uses++
		}
		ms.mu.Unlock()
		if ending == nil {
			return m, nil
		}
		select {
		case <-ending:
		case <-ctx.Done():
			return nil, unsent(ctx)
		case <-ms.engine.life.Done():
			return nil, errClosed
		}
	}
}

// leave ends a call.
func (ms *members) leave(m *member) {
	ms.mu.Lock()
	defer ms.mu.Unlock()
	m.uses--
	ms.tidy(m)
}

// tidy forgets a member of whom nothing can be on a server. mu is held.
func (ms *members) tidy(m *member) {
	if m.uses > 0 || m.created != 0 || m.late > 0 || m.ending != nil {
		return
	}
	ms.book.Remove(m)
	first := ms.all[m.Key]
	if first == m && m.next == nil {
		delete(ms.all, m.Key)
		return
	}
	if first == m {
		ms.all[m.Key] = m.next
		return
	}
	for p := first; p != nil; p = p.next {
		if p.next == m {
			p.next = m.next
			return
		}
	}
}
