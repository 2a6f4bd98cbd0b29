package redis

import (
	"context"

	"github.com/redis/go-redis/v9"
)

// noteMarkers writes into the record of a master which of its slots have a marker. See guard_master.lua.
func (p *place) noteMarkers(ctx context.Context, tx *redis.Tx, on *server, record []string, me node) error {
	marked, err := p.config.markers(ctx, tx, me)
	if err == nil {
		err = tx.EvalSha(ctx, on.program.sha[guardMarked], record, marked).Err()
	}
	return explain(err)
}

// markers are the slots of a master that have a marker, a bit for each in hexadecimal digits. So are those that are on their way: the marker may have left.
func (c *config) markers(ctx context.Context, tx *redis.Tx, me node) (string, error) {
	var bits [slots / 4]byte
	for some := range me.slots() {
		cmds, err := tx.Pipelined(ctx, func(p redis.Pipeliner) error {
			for _, slot := range some {
				p.Exists(ctx, c.slotMarker(slot))
			}
			return nil
		})
		if len(cmds) == 0 {
			return "", err
		}
		for i, cmd := range cmds {
			is := cmd.(*redis.IntCmd) // what Exists makes
			if err := is.Err(); err != nil && !away(err) {
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

// away reports whether an error comes of a slot that has left a server, or is about to.
func away(err error) bool { return moving(err) || redis.HasErrorPrefix(err, "MOVED") }
