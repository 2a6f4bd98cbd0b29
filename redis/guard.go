package redis

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/redis/internal/luascript"
)

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
