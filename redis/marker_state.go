package redis

import (
	"fmt"
	"time"

	"github.com/leasehold-go/leasehold/driver"
)

// markerState is what was last read of a marker: whether leases may be granted on the server, or in a Cluster in the
// slot. A slot has its own marker because what a server has lost, or never got, moves with the slot.
//
// In a Cluster the state only saves requests. Each script that grants checks the marker itself, as the slot may have
// been moved away and back without the client's knowledge.
type markerState struct {
	server     *server
	readAt     driver.Instant
	opensAfter time.Duration // time from readAt until grants open; 0 if they are open
	isNew      bool          // there was no marker: the server has no record of earlier use
}

// newMarkerState returns the state of a marker that was asked for at a moment and has been read by now.
func newMarkerState(srv *server, asked driver.Instant, left time.Duration, state string) *markerState {
	m := &markerState{server: srv, readAt: asked, isNew: state == "new"}
	if left > 0 {
		m.opensAfter = left + driver.Now().Since(asked) + left/100
	}
	return m
}

// closedFor returns for how long no lease may be granted.
func (m *markerState) closedFor() time.Duration {
	if m == nil || m.opensAfter == 0 {
		return 0
	}
	return max(m.opensAfter-driver.Now().Since(m.readAt), 0)
}

// closedError returns the error that says why nothing is granted.
func (m *markerState) closedError() *ClosedError {
	return &ClosedError{Open: time.Now().Add(m.closedFor()), Unseen: m.isNew}
}

// explainRefusal changes a refusal if grants are closed, and returns its error. A caller that has joined waits for them
// to open.
func (m *markerState) explainRefusal(refused *refusal, joined bool, err error) error {
	left := m.closedFor()
	if left == 0 {
		return err
	}
	if refused.endsIn == 0 { // nobody holds it
		refused.closed = true
		if err = driver.NoEffect(m.closedError()); joined {
			err = fmt.Errorf("%w: %w", driver.ErrHeld, m.closedError())
		}
	}
	if refused.position <= 0 || refused.endsIn < left { // until grants open, no release notifies the head
		refused.endsIn = left
	}
	return err
}

// isStale reports whether somebody may have opened the server or the slot since.
func (m *markerState) isStale() bool { return driver.Now().Since(m.readAt) >= serverTrustedFor }

// markerOf returns what is known of the marker for names on the server that is assumed to have them, or nil.
func (rt *router) markerOf(n redisKeys, srv *server) *markerState {
	if !rt.isCluster() {
		return srv.marker.Load()
	}
	if m := (*rt.markers.Load())[n.slot()].Load(); m != nil && m.server == srv {
		return m
	}
	return nil
}

// setMarker stores what was read.
func (rt *router) setMarker(n redisKeys, m *markerState) {
	if !rt.isCluster() {
		m.server.marker.Store(m)
		return
	}
	(*rt.markers.Load())[n.slot()].Store(m)
}
