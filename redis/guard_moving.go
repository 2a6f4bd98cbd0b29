package redis

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// meetMoving is called by whoever finds a slot on its way to another server. What many find at the same time is done once. It waits for that a little:
// the server that has the marker may be frozen, and the next who asks finds it, too.
func (p *place) meetMoving(ctx context.Context, n names) {
	if p.looking || !p.config.guard || p.single() {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, longestPause)
	defer cancel()
	_, _ = p.await(ctx, n, topic{slot: n.slot(), moving: true}, nil)
}

// meetSilence is called by whoever has no answer: the slot may be on its way to a server that is frozen or gone, to which the client was sent on. It waits for
// nothing.
func (p *place) meetSilence(ctx context.Context, n names, err error) {
	if unheard(err) && !p.looking && p.config.guard && p.clustered() {
		p.question(ctx, n, topic{slot: n.slot(), silent: true}, nil, nil)
	}
}

// unheard reports whether an error is none that a server has answered.
func unheard(err error) bool {
	_, replied := errors.AsType[redis.Error](err)
	return err != nil && !replied
}

// confirm looks by itself where a slot is of which it was only thought to have changed its server along with others. If it is half moved, it is shut; else its
// marker is read, so that it names the server that has it now.
func (p *place) confirm(ctx context.Context, n names) {
	if p.looking || !p.config.guard || p.single() {
		return
	}
	switch on, err := p.learn(ctx, n, nil); {
	case moving(err):
		p.meetMoving(ctx, n)
	case err == nil:
		_, _ = p.look(ctx, n, on) // who is to be granted something looks again
	default:
		p.meetSilence(ctx, n, err)
	}
}

// shutMoving shuts a slot that is being given away, on whichever server has its marker: who asks may have taken another one for its master, and the marker may
// have left.
func (p *place) shutMoving(ctx context.Context, n names) error {
	marker := p.config.slotMarker(n.slot())
	err := p.pinned(ctx, marker, func(tx *redis.Tx) error { return p.shutOn(ctx, tx, marker) })
	if moving(err) {
		return p.shutAway(ctx, marker)
	}
	return err
}

// shutGiven shuts a slot if its server says that it is being given away.
func (p *place) shutGiven(ctx context.Context, n names) error {
	marker := p.config.slotMarker(n.slot())
	return p.pinned(ctx, marker, func(tx *redis.Tx) error {
		text, err := tx.ClusterNodes(ctx).Result()
		if err != nil {
			return explain(err)
		}
		if me, found := self(text); !found || !me.gives(n.slot()) {
			return nil
		}
		return p.shutOn(ctx, tx, marker)
	})
}

// shutOn shuts the slot of a marker on the server of a connection.
func (p *place) shutOn(ctx context.Context, tx *redis.Tx, marker string) error {
	f, err := inquire(ctx, tx)
	if err != nil {
		return err
	}
	program := p.config.assemble(f.identity(), true)
	shut := func() error { return tx.EvalSha(ctx, program.sha[guardMoving], []string{marker}).Err() }
	err = shut()
	if redis.HasErrorPrefix(err, "NOSCRIPT") {
		if err = p.load(ctx, tx, program); err == nil {
			err = shut()
		}
	}
	return err
}

// shutAway shuts a slot whose marker has left. It may be brought back before what has left along with it, and must not say then what it said before. The
// client is sent on with this, to a server that may not know the scripts. However late it arrives, it opens nothing.
func (p *place) shutAway(ctx context.Context, marker string) error {
	write := func(who string, longest, nodes any) (string, error) {
		text := fmt.Sprintf("%s %s %d %v %v", who, stateMoving, time.Now().UnixMilli(), longest, nodes)
		return p.client.SetArgs(ctx, marker, text, redis.SetArgs{Mode: "XX", Get: true}).Result()
	}
	before, err := write("-", p.config.maxTTL.Milliseconds(), "-")
	if fields := strings.Fields(before); err == nil && len(fields) >= 5 {
		_, err = write(fields[0], fields[3], fields[4])
	}
	return explain(err)
}
