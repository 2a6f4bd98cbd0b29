package top

import (
	"errors"
	"time"

	"github.com/leasehold-go/leasehold"
	"github.com/leasehold-go/leasehold/admin"
	"github.com/leasehold-go/leasehold/driver"
)

// requestKind is a kind of request to the engine.
type requestKind uint8

const (
	listNames      requestKind = iota // list all names
	inspectOne                        // inspect the open name
	examineServers                    // examine the servers
	requestKinds
)

// requestState is the state of one kind of request. At most one of each kind is in flight.
type requestState struct {
	inFlight    bool
	obsolete    bool // the request in flight is of no use any more
	asked       bool // a key has asked for the next request, so that it is sent even during a pause
	unsupported bool // the engine does not support it
	due         time.Time
	number      int // of the latest request
}

// request is a request to be sent.
type request struct {
	kind   requestKind
	number int
	view   view
	key    driver.Key
	query  admin.Query
}

// response is the result of a request.
type response struct {
	request
	snapshot    snapshot
	detail      detail
	examination admin.Examination
	err         error
	panic       any // what the request has panicked with
}

// startDue returns the requests to send now. They count as in flight until noteResponse.
func (m *model) startDue() (due []request) {
	for k := range m.requests {
		w := &m.requests[k]
		if w.inFlight || !m.isWanted(requestKind(k)) || m.now.Before(w.due) {
			continue
		}
		w.inFlight, w.obsolete, w.asked = true, false, false
		w.number++
		due = append(due, request{
			kind: requestKind(k), number: w.number, view: m.view, key: m.openName,
			query: admin.Query{Kind: m.opts.Kind, Prefix: m.opts.Prefix},
		})
	}
	return due
}

// isWanted reports whether a request is to be sent when it is due.
func (m *model) isWanted(k requestKind) bool {
	w := m.requests[k]
	return !w.unsupported && (!m.paused || w.asked) && (k != inspectOne || m.page == pageDetail)
}

// askFor makes a request due at once that a key has asked for.
func (m *model) askFor(k requestKind) {
	m.restart(k)
	m.requests[k].asked = true
}

// restart makes a request due as soon as the one in flight has ended.
func (m *model) restart(k requestKind) {
	m.requests[k].due = m.now
	m.requests[k].obsolete = m.requests[k].inFlight
}

// isObsolete reports whether the request in flight should be cancelled.
func (m *model) isObsolete(k requestKind) bool {
	return m.requests[k].inFlight && m.requests[k].obsolete
}

// wakeAt returns when the next request or frame is due even if nothing happens.
func (m *model) wakeAt() time.Time {
	at := m.now.Add(time.Second)
	for k, w := range m.requests {
		if !w.inFlight && m.isWanted(requestKind(k)) && w.due.Before(at) {
			at = w.due
		}
	}
	return at
}

// noteProgress takes in the progress of the listing in flight.
func (m *model) noteProgress(p progress) {
	if m.requests[listNames].inFlight && !m.requests[listNames].obsolete {
		m.progress = p
	}
}

// noteResponse takes in the result of a request.
func (m *model) noteResponse(a response) {
	w := &m.requests[a.kind]
	if !w.inFlight || w.number != a.number {
		return
	}
	w.inFlight = false
	if w.obsolete { // it is due again already
		w.obsolete = false
		return
	}
	w.due = m.now.Add(m.opts.Interval)
	switch a.kind {
	case listNames:
		if a.err != nil {
			m.noteFailure(a.err)
			return
		}
		// Leave the engine alone for at least half of the time.
		w.due = m.now.Add(max(m.opts.Interval, a.snapshot.took))
		m.noteSnapshot(a.snapshot)
	case inspectOne:
		m.detailErr = a.err
		if a.err == nil {
			m.detailAt = m.now
		}
		if a.err == nil || len(a.detail.votes) > 0 {
			m.detail = &a.detail
		}
	case examineServers:
		w.due = m.now.Add(max(m.opts.Interval, examineEvery))
		w.unsupported = errors.Is(a.err, leasehold.ErrUnsupported)
		if m.examineErr = a.err; a.err == nil {
			m.examination, m.examinedAt = a.examination, m.now
		}
	}
}
