package redis

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/leasehold-go/leasehold/driver"
)

// errType is the answer for a key that holds something of another program.
var errType = driver.Permanent(errors.New("redis: " + hopeless["WRONGTYPE"]))

// batch is the renewals that go to one server together.
type batch struct {
	engine *Engine
	items  []driver.Renewal
	report func(i int, err error)
	on     *server
	unsure []names // of which it is not known that their slots are where they were renewed
	silent []names // of which nothing was heard
}

// call is one script of a batch, and the items that it renews.
type call struct {
	script script
	names  names // of one of the items
	keys   []string
	args   []any
	items  []int
	cmd    *redis.Cmd
}

// Renew implements [driver.Engine]. The leases of each server are renewed together, and no server waits for another.
func (e *Engine) Renew(ctx context.Context, items []driver.Renewal, report func(i int, err error)) {
	if e.ears.closed() {
		for i := range items {
			report(i, errClosed)
		}
		return
	}
	if e.among != nil && e.guard && !e.mayRenew(ctx, items, report) {
		return
	}
	byServer := map[*server][]int{}
	for i := range items {
		on := e.place.guess(e.names(items[i].Key))
		byServer[on] = append(byServer[on], i)
	}
	var work sync.WaitGroup
	for on, mine := range byServer {
		b := &batch{engine: e, items: items, report: report, on: on}
		work.Go(func() { b.renew(ctx, mine) })
	}
	work.Wait()
}

// mayRenew sees whether the server still belongs to the list, at most a second after it was seen last. A lease that was renewed where it does not would
// go on beside those that the new list grants.
func (e *Engine) mayRenew(ctx context.Context, items []driver.Renewal, report func(i int, err error)) bool {
	if len(items) == 0 {
		return true
	}
	on, err := e.place.server(ctx, e.names(items[0].Key), true)
	if err == nil {
		err = e.place.mayGrant(on, flagged)
	}
	for i := range items {
		if err != nil {
			report(i, err)
		}
	}
	return err == nil
}

// renew renews some items.
func (b *batch) renew(ctx context.Context, items []int) {
	if b.on == nil {
		on, err := b.engine.place.server(ctx, b.engine.names(b.items[items[0]].Key), false)
		if err != nil {
			b.fail(items, err)
			b.wonder(b.engine.names(b.items[items[0]].Key), err)
			b.confirm(ctx)
			return
		}
		b.on = on
	}
	var calls []*call
	bySlot := map[uint16]*call{}
	for _, i := range items {
		r := &b.items[i]
		if err := checkOwner(r.Owner); err != nil {
			b.report(i, err)
			continue
		}
		n := b.engine.names(r.Key)
		if r.Kind != driver.Lock || r.Mode == driver.Shared {
			calls = append(calls, b.shared(i, n))
			continue
		}
		slot := b.engine.place.slot(n)
		c := bySlot[slot]
		if c == nil {
			c = &call{script: renew, names: n}
			bySlot[slot] = c
			calls = append(calls, c)
		}
		c.keys = append(c.keys, n.value)
		c.args = append(c.args, r.Owner, millis(r.TTL))
		c.items = append(c.items, i)
	}
	b.send(ctx, calls)
	b.confirm(ctx)
}

// confirm sees in the background where slots are that were not found where they were thought to be: renewals do not wait for it. It takes one after the
// other, for after a failover they may be thousands.
func (b *batch) confirm(ctx context.Context) {
	place := &b.engine.place
	if len(b.unsure)+len(b.silent) == 0 || !place.clustered() || !place.config.guard {
		return
	}
	go func() {
		done := map[uint16]bool{}
		bounded, cancel := context.WithTimeout(context.WithoutCancel(ctx), confirmWithin)
		for _, n := range b.silent {
			if !done[n.slot()] && bounded.Err() == nil && !b.engine.ears.closed() {
				done[n.slot()] = true
				_ = place.shutGiven(bounded, n)
			}
		}
		cancel()
		clear(done)
		for _, n := range b.unsure {
			if !done[n.slot()] && !b.engine.ears.closed() {
				done[n.slot()] = true
				bounded, cancel := context.WithTimeout(context.WithoutCancel(ctx), confirmWithin)
				place.confirm(bounded, n)
				cancel()
			}
		}
	}()
}

// confirmWithin bounds each look at where a slot is, and all together at those of which nothing was heard: they may be thousands, too.
const confirmWithin = 10 * time.Second

func (b *batch) shared(i int, n names) *call {
	r := &b.items[i]
	return &call{script: renewShared, names: n, keys: n.all(), args: []any{r.Owner, millis(r.TTL)}, items: []int{i}}
}

// send sends calls until the server knows the scripts, and then those for holders that turn out to be shared.
func (b *batch) send(ctx context.Context, calls []*call) {
	for try := 0; len(calls) > 0; try++ {
		err := b.exchange(ctx, calls)
		var again, shared []*call
		for _, c := range calls {
			switch {
			case c.cmd == nil: // not even sent
				b.fail(c.items, err)
				b.wonder(c.names, err)
			case try < 3 && (redis.HasErrorPrefix(c.cmd.Err(), "NOSCRIPT") || redis.HasErrorPrefix(c.cmd.Err(), "MOVED")):
				again = append(again, c)
			case c.cmd.Err() != nil:
				b.engine.place.doubt(c.names, c.cmd.Err())
				b.fail(c.items, explain(c.cmd.Err()))
				b.wonder(c.names, c.cmd.Err())
			case err != nil:
				b.fail(c.items, err)
			default:
				shared = append(shared, b.read(c)...)
			}
			c.cmd = nil
		}
		for _, c := range again {
			b.unsure = append(b.unsure, c.names) // the client may have been sent on to where the slot is going
		}
		if len(again) > 0 {
			on, err := b.engine.place.learn(ctx, again[0].names, b.on)
			if err == nil {
				b.on = on // they were thought to be together, and are so mostly still; confirm sees to the others
			} else {
				for _, c := range again {
					b.fail(c.items, err)
				}
				again = nil
			}
		}
		calls = append(again, shared...)
	}
}

// wonder notes that a slot may not be where it was thought to be.
func (b *batch) wonder(n names, err error) {
	switch {
	case moving(err) || redis.HasErrorPrefix(err, "NOSCRIPT"):
		b.unsure = append(b.unsure, n)
	case unheard(err):
		b.silent = append(b.silent, n)
	}
}

// exchange sends calls in one go. Its error is one that concerns all calls that have none of their own.
func (b *batch) exchange(ctx context.Context, calls []*call) error {
	e := b.engine
	if e.replicas == 0 && e.pipe != nil {
		b.submit(ctx, calls)
		return nil
	}
	send := func(p redis.Pipeliner) error {
		for _, c := range calls {
			cmd := newWords(c.keys, c.args...).command(ctx, b.on.program, c.script)
			c.cmd = cmd.Cmd
			_ = p.Process(ctx, cmd) // a pipeline only notes it
		}
		return nil
	}
	if e.replicas == 0 {
		_, _ = e.client.Pipelined(ctx, send) // each call has its own error
		return nil
	}
	var count *redis.Cmd
	err := e.together(ctx, calls[0].keys[0], func(p redis.Pipeliner) error {
		_ = send(p)
		count = e.acknowledged(ctx, p)
		return nil
	})
	if count == nil { // the server was not even reached
		e.place.doubt(calls[0].names, err)
		if moving(err) && len(calls) > 1 { // but for this slot it may be
			calls[0].cmd = redis.NewCmd(ctx)
			calls[0].cmd.SetErr(err)
			return b.exchange(ctx, calls[1:])
		}
		return explain(err)
	}
	return e.enough(count)
}

// submit sends calls along with the commands of others. Unlike a pipeline of their own, they can be left alone when ctx ends.
func (b *batch) submit(ctx context.Context, calls []*call) {
	under := make([]redis.AutoFuture, len(calls))
	for i, c := range calls {
		cmd := newWords(c.keys, c.args...).command(ctx, b.on.program, c.script)
		c.cmd = cmd.Cmd
		under[i] = b.engine.pipe.Submit(ctx, cmd)
	}
	for i, c := range calls {
		if err := under[i].WaitContext(ctx); err != nil {
			c.cmd = redis.NewCmd(ctx) // the other one may still be under way
			c.cmd.SetErr(err)
		}
	}
}

// read reports the outcomes of a call, and returns calls for those that must be looked for among shared holders.
func (b *batch) read(c *call) (shared []*call) {
	if c.script == renewShared {
		b.report(c.items[0], yes(c.cmd.Val(), nil))
		return nil
	}
	outcomes, _ := c.cmd.Val().(string)
	if len(outcomes) != len(c.items) {
		b.fail(c.items, errReply)
		return nil
	}
	for at, i := range c.items {
		switch outcomes[at] {
		case '1':
			b.report(i, nil)
		case '0':
			b.engine.wanted.Remove(b.items[i].Key)
			b.report(i, driver.ErrNotHeld)
		case 's':
			shared = append(shared, b.shared(i, b.engine.names(b.items[i].Key)))
		case 'e':
			b.report(i, errType)
		default:
			b.report(i, fmt.Errorf("%w: %q", errReply, outcomes[at]))
		}
	}
	return shared
}

func (b *batch) fail(items []int, err error) {
	for _, i := range items {
		b.report(i, err)
	}
}
