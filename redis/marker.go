package redis

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/redis/internal/luascript"
)

// The failover marker: its key, what a process remembers of it, and how it is read. guard_slots.go has what only a
// Cluster needs.

// markerKey returns the key, next to the locks, that names the server that granted last. In a Cluster each slot has a
// marker of its own, which moves with the slot.
func (rt *router) markerKey(n redisKeys) string {
	if rt.isCluster() {
		return rt.config.slotMarkerKey(n.slot())
	}
	return rt.config.serverMarkerKey()
}

// serverMarkerKey returns the key of the marker of a server outside a Cluster.
func (c *config) serverMarkerKey() string { return "{" + c.prefix + "}:" + partGuard }

const partGuard = "guard"

// markerState is what was last read of a marker: whether leases may be granted on the server, or in a Cluster in the
// slot. A slot has its own marker because what a server has lost, or never got, moves with the slot.
//
// In a Cluster the state only saves requests. Each script that grants checks the marker itself, as the slot may have
// been moved away and back without the client's knowledge.
type markerState struct {
	server     *server
	readAt     driver.Instant
	opensAfter time.Duration // time from readAt until grants open; 0 if they are open
	state      string        // that of the marker, see guard.lua
}

// newMarkerState returns the state of a marker that was asked for at a moment and has been read by now.
func newMarkerState(srv *server, asked driver.Instant, left time.Duration, state string) *markerState {
	m := &markerState{server: srv, readAt: asked, state: state}
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
	return newClosedError(time.Now().Add(m.closedFor()), m.state, m.server.scripts.slotsHaveMarkers)
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
			err = m.closedError().AsHeld()
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

// markerReply is the answer of guard.lua.
type markerReply struct {
	closedFor time.Duration
	state     string
	listHash  string
	// raw is the whole marker, if its state is new or moving: more has to be found out then.
	raw string
}

// readMarkerReply reads the answer of guard.lua.
func readMarkerReply(answer any, err error) (reply markerReply, _ error) {
	if err != nil {
		return reply, explainError(err)
	}
	items, _ := answer.([]any)
	if len(items) != 4 {
		return reply, errReply
	}
	ms, isNumber := items[0].(int64)
	var texts [3]string
	for i := range texts {
		text, isText := items[i+1].(string)
		if !isText || !isNumber || ms < 0 {
			return reply, errReply
		}
		texts[i] = text
	}
	return markerReply{luascript.Duration(ms), texts[0], texts[1], texts[2]}, nil
}

// guardArgs returns the arguments of guard.lua. sinceOther is how long ago another server was seen in the place of this
// one, negative if none was.
func (c *config) guardArgs(sinceOther time.Duration) []any {
	ms := int64(-1)
	if sinceOther >= 0 {
		ms = luascript.Millis(sinceOther)
	}
	return []any{c.maxTTL.Milliseconds(), ms, serverTrustedFor.Milliseconds()}
}

// refreshMarker reads the marker for names on a known server. Callers that ask at the same time share one request.
func (rt *router) refreshMarker(ctx context.Context, n redisKeys, srv *server) (*markerState, error) {
	q, err := rt.awaitInquiry(ctx, n, inquiryKey{server: srv, slot: rt.slotOf(n), marker: true}, nil)
	if err != nil {
		return nil, err
	}
	return rt.markerOf(n, srv), q.err
}

// fetchMarker reads the marker for names and stores what it says. In a Cluster it uses one connection, so that the
// client is not redirected to a server that is about to get the slot. If the slot has not been used yet, the time that
// its master has had it counts. Every process that finds the marker of such a slot does this, not only the one that
// wrote it, which may be slow or dead.
func (rt *router) fetchMarker(ctx context.Context, n redisKeys, srv *server) error {
	marker, asked := rt.markerKey(n), driver.Now()
	if !rt.isCluster() {
		cmd := newScriptCall([]string{marker}, rt.config.guardArgs(-1)...).command(ctx, srv.scripts, scriptGuard)
		_ = rt.client.Process(ctx, cmd) // cmd holds the error, too
		reply, err := readMarkerReply(cmd.Result())
		if err == nil {
			rt.setMarker(n, newMarkerState(srv, asked, reply.closedFor, reply.state))
		}
		return err
	}
	return rt.onOneConnection(ctx, marker, func(tx *redis.Tx) error {
		reply, err := rt.readSlotMarker(ctx, tx, n, srv)
		if err == nil {
			rt.setMarker(n, newMarkerState(srv, asked, reply.closedFor, reply.state))
		}
		return err
	})
}
