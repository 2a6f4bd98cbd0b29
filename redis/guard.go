package redis

import (
	"context"
	"errors"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/leasehold-go/leasehold/driver"
)

// marker is the key in which the server that granted last is remembered, beside the locks. In a Cluster each slot has its own, so that it goes
// along with what it guards.
func (p *place) marker(n names) string {
	if p.clustered() {
		return p.config.slotMarker(n.slot())
	}
	return p.config.onlyMarker()
}

// onlyMarker is that of a server that is no part of a Cluster.
func (c *config) onlyMarker() string { return "{" + c.prefix + "}:" + partGuard }

func (c *config) slotMarker(slot uint16) string {
	return "{" + anchors()[slot] + "}" + c.prefix + ":" + partGuard
}

// record is the key in which a master of a Cluster writes which slots it has had for how long. It is in the first of them. Wherever it is moved, what it
// says of its master stays true.
func (c *config) record(first uint16) string {
	return "{" + anchors()[first] + "}" + c.prefix + ":" + partGuard + "-master"
}

const partGuard = "guard"

// stateMoving is that of a marker of a slot that was on its way to another server. See guard.lua.
const stateMoving = "moving"

// mark is what guard.lua has answered.
type mark struct {
	left  time.Duration
	state string
	nodes string
	raw   string // the marker itself, if its state is new or moving: more is to be found out then
}

// readMark reads the answer.
func readMark(answer any, err error) (m mark, _ error) {
	if err != nil {
		return m, explain(err)
	}
	items, _ := answer.([]any)
	if len(items) != 4 {
		return m, errReply
	}
	ms, isNumber := items[0].(int64)
	var texts [3]string
	for i := range texts {
		text, isText := items[i+1].(string)
		if !isText || !isNumber || ms < 0 {
			return m, errReply
		}
		texts[i] = text
	}
	return mark{span(ms), texts[0], texts[1], texts[2]}, nil
}

// guardArgs are those of guard.lua. away is how long ago another server was seen in the place of this one; negative if there was none.
func (c *config) guardArgs(away time.Duration) []any {
	ms := int64(-1)
	if away >= 0 {
		ms = millis(away)
	}
	return []any{c.maxTTL.Milliseconds(), ms, verifyEvery.Milliseconds()}
}

// look reads the marker of names on a server that is known. What many want to know at the same time is asked once.
func (p *place) look(ctx context.Context, n names, on *server) (*gate, error) {
	q, err := p.await(ctx, n, topic{server: on, slot: p.slot(n), gate: true}, nil)
	if err != nil {
		return nil, err
	}
	return p.gate(n, on), q.err
}

// read reads the marker of names, and puts down what it says. In a Cluster it does so on one connection, so that it is not sent on to a server that is
// about to get the slot; and if the slot has not been used yet, it counts for how long its master has had it. Whoever finds the marker of such a slot does
// that, not only who has put it there: that one may not have come to it yet, or never will.
func (p *place) read(ctx context.Context, n names, on *server) error {
	marker, asked := p.marker(n), driver.Now()
	if !p.clustered() {
		cmd := newWords([]string{marker}, p.config.guardArgs(-1)...).command(ctx, on.program, guard)
		_ = p.client.Process(ctx, cmd) // it is in the command, too
		m, err := readMark(cmd.Result())
		if err == nil {
			p.put(n, newGate(on, asked, m.left, m.state))
		}
		return err
	}
	return p.pinned(ctx, marker, func(tx *redis.Tx) error {
		m, err := p.readSlot(ctx, tx, n, on)
		if err == nil {
			p.put(n, newGate(on, asked, m.left, m.state))
		}
		return err
	})
}

// readSlot reads the marker of a slot. If somebody else has changed it before its time was counted, it says something else by now, mostly that it is open.
func (p *place) readSlot(ctx context.Context, tx *redis.Tx, n names, on *server) (m mark, err error) {
	for range 3 {
		m, err = readMark(tx.EvalSha(ctx, on.program.sha[guard], []string{p.marker(n)}, p.config.guardArgs(-1)...).Result())
		if err != nil || m.raw == "" {
			return m, err
		}
		left, err := p.had(ctx, tx, n, on, m)
		if !errors.Is(err, errChanged) {
			m.left = left
			return m, err
		}
	}
	return m, nil
}

// errChanged is that a marker is not any more what it was.
var errChanged = errors.New("redis: the marker has changed")

// had returns for how long a slot stays closed that nobody has used yet, or that was on its way to another master. If the marker has changed meanwhile, it
// returns errChanged.
func (p *place) had(ctx context.Context, tx *redis.Tx, n names, on *server, m mark) (time.Duration, error) {
	text, err := tx.ClusterNodes(ctx).Result()
	if err != nil {
		return 0, explain(err)
	}
	me, found := self(text)
	switch {
	case !found || !me.has(n.slot()) || me.gives(n.slot()):
		return m.left, nil // it is being moved
	case m.state == stateMoving:
		return p.since(m, tx.EvalSha(ctx, on.program.sha[guardSince], []string{p.marker(n)}, m.raw, "", 0))
	}
	record := []string{p.config.record(me.first())}
	list, err := numbers(tx.EvalSha(ctx, on.program.sha[guardMaster], record, p.config.maxTTL.Milliseconds(), me.epoch, me.ranges(), n.slot(), "", "").Result())
	if err == nil && list[3] == 0 {
		err = p.noteMarkers(ctx, tx, on, record, me)
	}
	switch {
	case moving(err):
		return m.left, nil // the record is on its way, and this slot is not
	case err != nil:
		return m.left, err
	case list[0] == 0:
		now, err := tx.Get(ctx, p.marker(n)).Result()
		if err == nil && now != m.raw {
			err = errChanged
		}
		return m.left, explain(err)
	}
	open := 0
	if list[2] == 0 {
		open = 1
	}
	// There is a marker, so if it is the same one still when all this has been found out, nothing was granted by another master meanwhile.
	// That the slot has one is noted in the same breath: nobody who dies in between leaves the record without it.
	var since *redis.Cmd
	_, _ = tx.Pipelined(ctx, func(pipe redis.Pipeliner) error {
		since = pipe.EvalSha(ctx, on.program.sha[guardSince], []string{p.marker(n)}, m.raw, list[1], open)
		pipe.EvalSha(ctx, on.program.sha[guardMarked], record, n.slot())
		return nil
	})
	return p.since(m, since)
}

// since reads the answer of guard_since.lua: for how long the slot stays closed.
func (p *place) since(m mark, answer *redis.Cmd) (time.Duration, error) {
	ms, err := answer.Int64()
	switch {
	case err != nil:
		return m.left, explain(err)
	case ms < 0:
		return m.left, errChanged
	}
	return span(ms), nil
}

// numbers reads the answer of guard_master.lua.
func numbers(answer any, err error) ([]int64, error) {
	if err != nil {
		return nil, explain(err)
	}
	return integers(answer, 4)
}

// shut is what a script answers that finds its slot closed, or without a marker of this server. Nothing has been done.
const shut = "SHUT"
