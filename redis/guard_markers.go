package redis

import (
	"context"

	"github.com/redis/go-redis/v9"
)

// recordMarkedSlots writes into the record of a master which of its slots have a marker. See guard_slots.lua.
func (rt *router) recordMarkedSlots(ctx context.Context, tx *redis.Tx, srv *server, record []string, me node) error {
	marked, err := rt.config.slotsWithMarker(ctx, tx, me)
	if err == nil {
		err = tx.EvalSha(ctx, srv.scripts.sha[scriptGuardSlotsMarked], record, marked).Err()
	}
	return explainError(err)
}

// slotsWithMarker returns which slots of a master have a marker, one bit for each, in hexadecimal digits. Moving slots
// count as marked, as their marker may have left already.
func (c *config) slotsWithMarker(ctx context.Context, tx *redis.Tx, me node) (string, error) {
	var bits [slots / 4]byte
	for some := range me.slots() {
		cmds, err := tx.Pipelined(ctx, func(p redis.Pipeliner) error {
			for _, slot := range some {
				p.Exists(ctx, c.slotMarkerKey(slot))
			}
			return nil
		})
		if len(cmds) == 0 {
			return "", err
		}
		for i, cmd := range cmds {
			is := cmd.(*redis.IntCmd) // what Exists returns
			if err := is.Err(); err != nil && !hasLeftServer(err) {
				return "", err
			}
			if is.Err() != nil || is.Val() == 1 {
				bits[some[i]/4] |= 1 << (some[i] % 4)
			}
		}
	}
	const digits = "0123456789abcdef"
	for i, b := range bits {
		bits[i] = digits[b]
	}
	return string(bits[:]), nil
}

// hasLeftServer reports whether an error comes from a slot that has left a server, or is about to.
func hasLeftServer(err error) bool { return isMoving(err) || redis.HasErrorPrefix(err, "MOVED") }
