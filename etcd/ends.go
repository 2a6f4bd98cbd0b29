package etcd

import (
	"slices"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"

	"github.com/leasehold-go/leasehold/driver"
)

// The ends of members, which only this process knows of.

const (
	// placeLife is how long a place is kept that nobody waits at.
	placeLife = 10 * time.Second
	// defaultLateness is that of members.
	defaultLateness = 15 * time.Second
	// removeAgain is the pause after a removal that failed.
	removeAgain = time.Second
)

// extend moves the end of a member further away. mu is held.
func (ms *members) extend(m *member, by time.Duration) {
	if end := time.Now().Add(by); end.After(m.end) {
		m.end = end
	}
	if m.waits == 0 {
		ms.book.Extend(m, m.end)
	}
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
			m.strays = m.strays || !driver.HadNoEffect(err)
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
	if m.strays { // a removal may still arrive where the key was
		m.home, m.strays = ms.engine.places(m.Key).place(ms.id, m.number), false
	}
	ms.clear(m)
	if m.late = max(0, m.late-1); m.late > 0 {
		m.end = time.Now().Add(ms.lateness)
		ms.book.Set(m, m.end)
		return
	}
	if m.astray {
		ms.engine.sessions.retire(m.leases)
		m.astray = false
	}
	m.leases = nil
	ms.tidy(m)
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
