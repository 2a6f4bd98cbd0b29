package etcd

import (
	"context"
	"slices"
	"sync"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/internal/overdue"
)

// member is what this process knows of a place that it has put on a server, or has tried to.
type member struct {
	driver.Key
	owner, mark string
	number      int    // which no other owner of the name has
	home        string // the key that it has of this engine

	// Guarded by members.mu.
	path    string // its home, or the key on which the owner's place was found
	uses    int    // calls that work with it
	waits   int    // those that wait, while which it has no end
	created int64
	granted bool
	left    bool               // it may be kept, and nobody's
	on      *session           // the session of the key; nil if it is another's
	leases  []clientv3.LeaseID // those that the key may be on
	late    int                // how many removals it still takes, since a request may yet arrive; 0 if all outcomes are known
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
	// lateness is how long a request may be under way that nobody waits for any more: longer than servers work on it.
	lateness time.Duration

	rivals rivals

	mu  sync.Mutex
	all map[driver.Key]*member
}

const (
	// placeLife is how long a place is kept that nobody waits at.
	placeLife = 10 * time.Second
	// defaultLateness is that of members.
	defaultLateness = 15 * time.Second
	// removeAgain is the pause after a removal that failed.
	removeAgain = time.Second
)

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

// extend moves the end of a member further away. mu is held.
func (ms *members) extend(m *member, by time.Duration) {
	if end := time.Now().Add(by); end.After(m.end) {
		m.end = end
	}
	if m.waits == 0 {
		ms.book.Extend(m, m.end)
	}
}

// puts says that the key is about to be put on sessions, for a ttl if it holds, and that its end is not to come meanwhile, if it can be
// helped. It returns the key for a new place.
func (ms *members) puts(m *member, ttl time.Duration, on ...*session) (path string, err error) {
	ms.mu.Lock()
	defer ms.mu.Unlock()
	if m.ending != nil {
		return "", errEnding
	}
	for _, s := range on {
		if !slices.Contains(m.leases, s.id) {
			m.leases = append(m.leases, s.id)
		}
	}
	switch {
	case m.granted:
		ms.extend(m, ttl)
	case m.created != 0:
		ms.extend(m, placeLife)
	}
	return m.home, nil
}

// stands says that the key is on a session, and for how long unless it is renewed. It fails if the end has come before: the key is removed
// then, or once more if that was too early.
func (ms *members) stands(m *member, path string, created int64, s *session, granted bool, life time.Duration) error {
	ms.mu.Lock()
	defer ms.mu.Unlock()
	if m.ending != nil {
		m.late = 2
		return errEnded
	}
	if granted && !m.granted {
		m.end = time.Time{} // as a waiter it may have lived for longer
		ms.book.Remove(m)
	}
	m.path, m.created, m.on, m.granted, m.left = path, created, s, granted, false
	if m.late == 0 {
		m.leases = append(m.leases[:0], s.id)
	}
	ms.extend(m, life)
	return nil
}

// doubt says that a request has an unknown outcome: the key may come as long as it is under way, and is removed then, unless it is known
// before what has become of it.
func (ms *members) doubt(m *member, life time.Duration) {
	ms.mu.Lock()
	defer ms.mu.Unlock()
	m.late = 2
	if m.ending == nil { // else the removal that is under way is followed by others
		ms.extend(m, life)
	}
}

// removes says that the removal of a member's key has an unknown outcome.
func (ms *members) removes(m *member) {
	ms.mu.Lock()
	defer ms.mu.Unlock()
	ms.move()
	m.late = 2
	if m.ending == nil {
		ms.extend(m, 0)
	}
}

// created returns at which revision the key was created, or 0 if this process does not know it.
func (ms *members) created(m *member) int64 {
	ms.mu.Lock()
	defer ms.mu.Unlock()
	return m.created
}

// gone says that the key that was created then, as was known before somebody looked, is not on the server any more.
func (ms *members) gone(m *member, created int64) {
	ms.mu.Lock()
	defer ms.mu.Unlock()
	if m.created != created || m.ending != nil {
		return
	}
	ms.clear(m)
	if m.late > 0 {
		m.late, m.end = 1, time.Now().Add(ms.lateness)
		ms.book.Set(m, m.end)
		return
	}
	m.end = time.Time{}
	ms.tidy(m)
}

// expire is called with those whose time has come. It removes their keys.
func (ms *members) expire(due []*member) {
	const most = 40 // at once: each may be on three leases, or on more if there was trouble
	now := time.Now()
	ms.mu.Lock()
	ended := due[:0]
	for _, m := range due {
		switch {
		case m.ending == nil && m.waits > 0: // its end is set when nobody waits any more
			continue
		case m.ending == nil && m.end.After(now):
			ms.book.Extend(m, m.end)
			continue
		case m.ending == nil:
			m.ending = make(chan struct{})
		}
		ended = append(ended, m)
	}
	ms.mu.Unlock()
	for part := range slices.Chunk(ended, most) {
		ms.engine.background.Go(func() { ms.finish(part) }) // whose end comes a moment later need not wait for the answer
	}
}

// finish removes the keys of members whose end has come.
func (ms *members) finish(part []*member) {
	err := ms.remove(part)
	ms.mu.Lock()
	defer ms.mu.Unlock()
	if err != nil && !driver.HadNoEffect(err) {
		ms.move()
	}
	for _, m := range part {
		if err != nil {
			ms.book.Set(m, time.Now().Add(removeAgain))
			continue
		}
		ms.ended(m)
	}
}

// remove deletes keys, if they are still on a session that this process has put them on: another may have taken them over.
func (ms *members) remove(part []*member) error {
	var removals []*pb.RequestOp
	for _, m := range part { // nobody changes them once the end has come
		for _, path := range slices.Compact([]string{m.home, m.path}) {
			for _, lease := range m.leases {
				removals = append(removals, opTxn(all(onLease(path, lease)), ops(opDelete(path)), nil))
			}
		}
	}
	const most = 120 // servers allow for 128 operations
	for some := range slices.Chunk(removals, most) {
		if _, err := ms.engine.txn(ms.engine.life, nil, some, nil); err != nil {
			return err
		}
	}
	return nil
}

// ended says that a member's key was removed at its end. mu is held.
func (ms *members) ended(m *member) {
	close(m.ending)
	m.ending = nil
	ms.clear(m)
	if m.late = max(0, m.late-1); m.late > 0 {
		m.end = time.Now().Add(ms.lateness)
		ms.book.Set(m, m.end)
		return
	}
	m.leases = nil
	ms.tidy(m)
}

// keeps says that the key is on a session of its own, and nobody's, for so long from now, whatever was left before.
func (ms *members) keeps(m *member, own *place, s *session, life time.Duration) error {
	ms.mu.Lock()
	defer ms.mu.Unlock()
	if m.ending != nil {
		return nil // the removal that is under way ends it too early or too late, as the lease had run out
	}
	m.path, m.created, m.granted, m.on = own.path, own.created, false, nil
	m.leases = append(m.leases[:0], s.id)
	m.end = time.Now().Add(life)
	ms.book.Set(m, m.end)
	return nil
}

// waits says that somebody waits at the place of a member, which has no end meanwhile. It hands over what a Take has read.
func (ms *members) waits(m *member) sighting {
	ms.mu.Lock()
	defer ms.mu.Unlock()
	m.waits++
	read := m.read
	m.read = sighting{}
	return read
}

// refused keeps what a Take has read whose owner waits now.
func (ms *members) refused(m *member, l line, revision int64) {
	ms.mu.Lock()
	defer ms.mu.Unlock()
	m.read = sighting{l, revision}
}

// waitsNoMore is the end of waits.
func (ms *members) waitsNoMore(m *member) {
	ms.mu.Lock()
	defer ms.mu.Unlock()
	if m.waits--; m.waits > 0 || m.ending != nil || m.created == 0 && m.late == 0 {
		return
	}
	if m.granted {
		ms.extend(m, 0) // to the end that it has
		return
	}
	ms.extend(m, placeLife)
}
