package etcd

import (
	"slices"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
)

// What this process knows of where the key of a member is, by what it has sent and was answered.

// whereabouts are where the key of a member is, as of its last known change.
type whereabouts struct {
	path    string        // its home, or the key on which the owner's place was found
	created int64         // its revision; 0 if this process knows of none
	grace   time.Duration // which others give it when its session has ended
}

func (p place) whereabouts() whereabouts { return whereabouts{p.path, p.created, p.grace} }

// puts says that the key is about to be put on sessions, for a ttl if it holds, and that its end is not to come meanwhile, if it can be
// helped. It returns the key for a new place.
func (ms *members) puts(m *member, ttl time.Duration, on ...*session) (path string, err error) {
	leases := make([]clientv3.LeaseID, len(on))
	for i, s := range on {
		leases[i] = s.base
	}
	return ms.putsOn(m, ttl, leases...)
}

func (ms *members) putsOn(m *member, ttl time.Duration, on ...clientv3.LeaseID) (path string, err error) {
	ms.mu.Lock()
	defer ms.mu.Unlock()
	if m.ending != nil {
		return "", errEnding
	}
	for _, lease := range on {
		if !slices.Contains(m.leases, lease) {
			m.leases = append(m.leases, lease)
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
func (ms *members) stands(m *member, at whereabouts, s *session, granted bool, life time.Duration) error {
	ms.mu.Lock()
	defer ms.mu.Unlock()
	return ms.standsLocked(m, at, s, granted, life)
}

// moved is stands for the key of a holder that was put on another session, unless it was released meanwhile: before it was moved, the key was known
// as created then.
func (ms *members) moved(m *member, known int64, own *place, s *session, life time.Duration) error {
	ms.mu.Lock()
	defer ms.mu.Unlock()
	if m.created != known {
		return nil
	}
	return ms.standsLocked(m, own.whereabouts(), s, true, life)
}

func (ms *members) standsLocked(m *member, at whereabouts, s *session, granted bool, life time.Duration) error {
	if m.ending != nil {
		m.late = 2
		return errEnded
	}
	if granted && !m.granted {
		m.end = time.Time{} // as a waiter it may have lived for longer
		ms.book.Remove(m)
	}
	m.whereabouts, m.on, m.granted, m.left = at, s, granted, false
	if m.late == 0 {
		m.leases = append(m.leases[:0], s.base)
	}
	ms.extend(m, life)
	return nil
}

// keeps says that the key is on a lease of its own, and nobody's, for so long from now, whatever was left before.
func (ms *members) keeps(m *member, own *place, lease clientv3.LeaseID, life time.Duration) error {
	ms.mu.Lock()
	defer ms.mu.Unlock()
	if m.ending != nil {
		return nil // the removal that is under way ends it too early or too late, as the lease had run out
	}
	m.whereabouts, m.granted, m.on = own.whereabouts(), false, nil
	if m.late == 0 {
		m.leases = append(m.leases[:0], lease)
	}
	m.end = time.Now().Add(life)
	ms.book.Set(m, m.end)
	return nil
}

// leaves says that a place is about to be made nobody's.
func (ms *members) leaves(m *member) {
	ms.mu.Lock()
	defer ms.mu.Unlock()
	m.left = true
}

// doubt says that a request has an unknown outcome: the key may come as long as it is under way, and is removed then, unless it is known
// before what has become of it. If it comes later still, it goes with its session.
func (ms *members) doubt(m *member, life time.Duration) {
	ms.mu.Lock()
	defer ms.mu.Unlock()
	m.late, m.astray = 2, true
	if m.ending == nil { // else the removal that is under way is followed by others
		ms.extend(m, life)
	}
}

// removes says that the removal of a member's key has an unknown outcome.
func (ms *members) removes(m *member) {
	ms.mu.Lock()
	defer ms.mu.Unlock()
	ms.move()
	m.late, m.strays = 2, true
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

// homeOf returns the key that a member has of this engine.
func (ms *members) homeOf(m *member) string {
	ms.mu.Lock()
	defer ms.mu.Unlock()
	return m.home
}

// known returns the key of a member, and since when its owner has a place there, with a token if that is given. It returns 0 if that is
// not known for sure, or if the place may be nobody's, or if there may be another one.
func (ms *members) known(m *member, token uint64) (path string, created int64, granted bool) {
	ms.mu.Lock()
	defer ms.mu.Unlock()
	if m.left || m.late > 0 || m.ending != nil || token != 0 && token != uint64(m.created) || m.path != m.home {
		return "", 0, false
	}
	return m.path, m.created, m.granted
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

// clear notes that a member has no place. mu is held.
func (ms *members) clear(m *member) {
	m.whereabouts = whereabouts{path: m.home}
	m.granted, m.left, m.on, m.read = false, false, nil, sighting{}
}
