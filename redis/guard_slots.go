package redis

import (
	"context"
	"errors"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/leasehold-go/leasehold/redis/internal/luascript"
)

// The markers of slots, which only a Cluster has. marker.go has what all servers have.

// slotMarkerKey returns the key of the marker of a slot of a Cluster.
func (c *config) slotMarkerKey(slot uint16) string {
	return "{" + slotTags()[slot] + "}" + c.prefix + ":" + partGuard
}

// masterRecordKey returns the key in which a master of a Cluster records which slots it has had for how long. The key
// is in the first of these slots. If that slot is moved, what the record says of its master stays true.
func (c *config) masterRecordKey(first uint16) string {
	return "{" + slotTags()[first] + "}" + c.prefix + ":" + partGuard + "-master"
}

// States of a marker that need more than waiting, see guard.lua: there was none, and that of a slot that was moving to
// another server.
const (
	stateNew    = "new"
	stateMoving = "moving"
)

// readSlotMarker reads the marker of a slot. If another process changed the marker while this one found out how long
// the master has had the slot, it reads the marker again: mostly it says by then that the slot is open.
func (rt *router) readSlotMarker(
	ctx context.Context, tx *redis.Tx, n redisKeys, srv *server,
) (reply markerReply, err error) {
	marker, args := []string{rt.markerKey(n)}, rt.config.guardArgs(-1)
	for range 3 {
		reply, err = readMarkerReply(tx.EvalSha(ctx, srv.scripts.sha[scriptGuard], marker, args...).Result())
		if err != nil || reply.raw == "" {
			return reply, err
		}
		left, err := rt.closedSinceHeld(ctx, tx, n, srv, reply)
		if !errors.Is(err, errMarkerChanged) {
			reply.closedFor = left
			return reply, err
		}
	}
	return reply, nil
}

// errMarkerChanged says that the marker changed since it was read.
var errMarkerChanged = errors.New("redis: the marker has changed")

// closedSinceHeld returns for how long a slot stays closed that nobody has used yet, or that was moving to another
// master. It returns errMarkerChanged if the marker has changed meanwhile.
func (rt *router) closedSinceHeld(
	ctx context.Context, tx *redis.Tx, n redisKeys, srv *server, reply markerReply,
) (time.Duration, error) {
	text, err := tx.ClusterNodes(ctx).Result()
	if err != nil {
		return 0, explainError(err)
	}
	me, found := askedNode(text)
	switch {
	case !found || !me.hasSlot(n.slot()) || me.isGivingAway(n.slot()):
		return reply.closedFor, nil // it is moving
	case reply.state == stateMoving:
		answer := tx.EvalSha(ctx, srv.scripts.sha[scriptGuardHeldSince], []string{rt.markerKey(n)}, reply.raw, "", 0)
		return rt.readHeldSince(reply, answer)
	}
	record := []string{rt.config.masterRecordKey(me.firstSlot())}
	list, err := readNumbers(tx.EvalSha(ctx, srv.scripts.sha[scriptGuardSlots], record,
		rt.config.maxTTL.Milliseconds(), me.epoch, me.rangesText(), n.slot(), "", "").Result())
	if err == nil && list[3] == 0 {
		err = rt.recordMarkedSlots(ctx, tx, srv, record, me)
	}
	switch {
	case isMoving(err):
		return reply.closedFor, nil // the record's slot is moving, and this one is not
	case err != nil:
		return reply.closedFor, err
	case list[0] == 0:
		now, err := tx.Get(ctx, rt.markerKey(n)).Result()
		if err == nil && now != reply.raw {
			err = errMarkerChanged
		}
		return reply.closedFor, explainError(err)
	}
	open := 0
	if list[2] == 0 {
		open = 1
	}
	// If the marker is still the same after all this was found out, no other master granted anything meanwhile.
	// Recording that the slot has a marker goes in the same pipeline, so that a process that dies in between does not
	// leave the record without it.
	var since *redis.Cmd
	_, _ = tx.Pipelined(ctx, func(pipe redis.Pipeliner) error {
		marker := []string{rt.markerKey(n)}
		since = pipe.EvalSha(ctx, srv.scripts.sha[scriptGuardHeldSince], marker, reply.raw, list[1], open)
		pipe.EvalSha(ctx, srv.scripts.sha[scriptGuardSlotsMarked], record, n.slot())
		return nil
	})
	return rt.readHeldSince(reply, since)
}

// readHeldSince reads the answer of guard_held_since.lua: for how long the slot stays closed.
func (rt *router) readHeldSince(reply markerReply, answer *redis.Cmd) (time.Duration, error) {
	ms, err := answer.Int64()
	switch {
	case err != nil:
		return reply.closedFor, explainError(err)
	case ms < 0:
		return reply.closedFor, errMarkerChanged
	}
	return luascript.Duration(ms), nil
}

// readNumbers reads the answer of guard_slots.lua.
func readNumbers(answer any, err error) ([]int64, error) {
	if err != nil {
		return nil, explainError(err)
	}
	return replies.Integers(answer, 4)
}

// errCodeClosed is the reply of a script that finds its slot closed, or without a marker of this server. The script has
// done nothing.
const errCodeClosed = "CLOSED"
