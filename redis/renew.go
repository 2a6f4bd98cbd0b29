package redis

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/internal/detach"
	"github.com/leasehold-go/leasehold/redis/internal/luascript"
	"github.com/leasehold-go/leasehold/redis/internal/reply"
)

// maxRenewalsPerScript is how many leases one script renews. The server does nothing else meanwhile, for about 0.3 ms.
const maxRenewalsPerScript = 128

// errWrongType is the error for a key that holds another program's data.
var errWrongType = driver.Permanent(errors.New("redis: " + reply.WrongTypeFix))

// serverRenewals is what one call of Renew sends to one server.
type serverRenewals struct {
	engine *Engine
	items  []driver.Renewal
	report func(i int, err error)
	server *server
	// uncertainRoutes are names whose slots may not be on the server that renewed them.
	uncertainRoutes []redisKeys
	unanswered      []redisKeys // their requests got no answer
}

// scriptRenewal is one script call of a batch, and the items that it renews.
type scriptRenewal struct {
	script script
	names  redisKeys // of one of the items
	keys   []string
	args   []any
	items  []int
	cmd    *redis.Cmd
}

// Renew implements [driver.Engine]. The leases of each server are renewed together, and no server waits for another.
func (e *Engine) Renew(ctx context.Context, items []driver.Renewal, report func(i int, err error)) {
	if e.returnsInTime(ctx) {
		e.renew(ctx, items, report)
		return
	}
	detach.Renew(ctx, &e.workers, items, report, e.renew)
}

func (e *Engine) renew(ctx context.Context, items []driver.Renewal, report func(i int, err error)) {
	if err := e.mayRenew(ctx, items); err != nil {
		for i := range items {
			report(i, err)
		}
		return
	}
	var work sync.WaitGroup
	for srv, indexes := range e.byServer(items) {
		b := &serverRenewals{engine: e, items: items, report: report, server: srv}
		work.Go(func() { b.renew(ctx, indexes) })
	}
	work.Wait()
}

// byServer returns the indexes of the items that are assumed to be on each server.
func (e *Engine) byServer(items []driver.Renewal) map[*server][]int {
	all := make([]int, len(items))
	for i := range items {
		all[i] = i
	}
	if len(items) > 0 && !e.router.isCluster() {
		return map[*server][]int{e.router.cachedServer(e.names(items[0].Key)): all}
	}
	byServer := map[*server][]int{}
	for _, i := range all {
		srv := e.router.cachedServer(e.names(items[i].Key))
		byServer[srv] = append(byServer[srv], i)
	}
	return byServer
}

// mayRenew returns why nothing may be renewed, or nil. The server of a node of redlock must still belong to the list,
// as of at most a second ago. Otherwise a renewed lease would last beside those that the new list grants.
func (e *Engine) mayRenew(ctx context.Context, items []driver.Renewal) error {
	switch {
	case e.subscriptions.IsClosed():
		return errEngineClosed
	case e.nodeList == nil || !e.guard || len(items) == 0:
		return nil
	}
	srv, err := e.router.server(ctx, e.names(items[0].Key), true)
	if err != nil {
		return err
	}
	return e.router.checkNodeList(srv)
}

// renew renews some of the items.
func (b *serverRenewals) renew(ctx context.Context, items []int) {
	if b.server == nil {
		srv, err := b.engine.router.server(ctx, b.engine.names(b.items[items[0]].Key), false)
		if err != nil {
			b.fail(b.engine.names(b.items[items[0]].Key), items, err)
			b.checkRoutes(ctx)
			return
		}
		b.server = srv
	}
	var calls []*scriptRenewal
	bySlot := map[uint16]*scriptRenewal{}
	var ttl time.Duration
	var ttlArg any // as an interface, which takes memory: most items have the same
	for at, i := range items {
		r := &b.items[i]
		if err := checkOwner(r.Owner); err != nil {
			b.report(i, err)
			continue
		}
		n := b.engine.names(r.Key)
		if r.Kind != driver.Lock || r.Mode == driver.Shared {
			calls = append(calls, b.sharedRenewal(i, n))
			continue
		}
		slot := b.engine.router.slotOf(n)
		c := bySlot[slot]
		if c == nil || len(c.items) == maxRenewalsPerScript {
			c = newScriptRenewal(n, b.expectedSize(len(items)-at))
			bySlot[slot] = c
			calls = append(calls, c)
		}
		if ttlArg == nil || r.TTL != ttl {
			ttl, ttlArg = r.TTL, luascript.Millis(r.TTL)
		}
		c.keys = append(c.keys, n.value)
		c.args = append(c.args, &r.Owner, ttlArg)
		c.items = append(c.items, i)
	}
	b.sendUntilKnown(ctx, calls)
	b.checkRoutes(ctx)
}

// expectedSize returns how many of the next n items one script will probably renew.
func (b *serverRenewals) expectedSize(n int) int {
	if b.engine.router.isCluster() {
		return 1 // there are many slots
	}
	return min(n, maxRenewalsPerScript)
}

// newScriptRenewal returns a call without items, with memory for size of them.
func newScriptRenewal(n redisKeys, size int) *scriptRenewal {
	return &scriptRenewal{
		script: scriptRenew, names: n,
		keys: make([]string, 0, size), args: make([]any, 0, 2*size), items: make([]int, 0, size),
	}
}

func (b *serverRenewals) sharedRenewal(i int, n redisKeys) *scriptRenewal {
	r := &b.items[i]
	return &scriptRenewal{
		script: scriptRenewShared, names: n, keys: n.allKeys(),
		args: []any{r.Owner, luascript.Millis(r.TTL)}, items: []int{i},
	}
}

// sendUntilKnown sends calls until the server knows the scripts, and then the calls for holders that turn out to be
// shared.
func (b *serverRenewals) sendUntilKnown(ctx context.Context, calls []*scriptRenewal) {
	for try := 0; len(calls) > 0; try++ {
		unconfirmed := b.sendCalls(ctx, calls)
		var retry, shared []*scriptRenewal
		for _, c := range calls {
			switch err := c.cmd.Err(); {
			case try < 3 && (redis.HasErrorPrefix(err, "NOSCRIPT") || redis.HasErrorPrefix(err, "MOVED")):
				retry = append(retry, c)
				// The client may have been redirected to where the slot is going.
				b.uncertainRoutes = append(b.uncertainRoutes, c.names)
			case err != nil:
				b.fail(c.names, c.items, explainError(err))
			case unconfirmed != nil:
				b.reportError(c.items, explainError(unconfirmed))
			default:
				shared = append(shared, b.reportOutcomes(c)...)
			}
		}
		if len(retry) > 0 {
			srv, err := b.engine.router.findServer(ctx, retry[0].names, b.server)
			if err == nil {
				b.server = srv // the slots were together before, and mostly still are; checkRoutes handles the others
			} else {
				for _, c := range retry {
					b.fail(c.names, c.items, err)
				}
				retry = nil
			}
		}
		calls = append(retry, shared...)
	}
}

// sendCalls sends calls together. Each has its answer or error then. The error it returns says why replicas have not
// confirmed them.
func (b *serverRenewals) sendCalls(ctx context.Context, calls []*scriptRenewal) error {
	e := b.engine
	if e.replicas == 0 && e.asyncPipe != nil {
		b.submitCalls(ctx, calls)
		return nil
	}
	send := func(p redis.Pipeliner) error {
		for _, c := range calls {
			cmd := newScriptCall(c.keys, c.args...).command(ctx, b.server.scripts, c.script)
			c.cmd = cmd.Cmd
			_ = p.Process(ctx, cmd) // a pipeline only queues it
		}
		return nil
	}
	if e.replicas == 0 {
		luascript.SetPipelineError(e.client.Pipelined(ctx, send))
		return nil
	}
	sent, err := e.sendConfirmed(ctx, calls[0].keys[0], func(p redis.Pipeliner) { _ = send(p) })
	if sent {
		return err
	}
	for i, c := range calls { // the server was not even reached
		if i == 1 && isMoving(err) {
			return b.sendCalls(ctx, calls[1:]) // another slot may still lead to it
		}
		c.cmd = redis.NewCmd(ctx)
		c.cmd.SetErr(err)
	}
	return nil
}

// submitCalls sends calls along with the commands of other goroutines. Unlike a pipeline of its own, they can be
// abandoned when ctx ends.
func (b *serverRenewals) submitCalls(ctx context.Context, calls []*scriptRenewal) {
	inFlight := make([]redis.AutoFuture, len(calls))
	for i, c := range calls {
		cmd := newScriptCall(c.keys, c.args...).command(ctx, b.server.scripts, c.script)
		c.cmd = cmd.Cmd
		inFlight[i] = b.engine.asyncPipe.Submit(ctx, cmd)
	}
	for i, c := range calls {
		if err := inFlight[i].WaitContext(ctx); err != nil {
			c.cmd = redis.NewCmd(ctx) // the submitted command may still be in flight
			c.cmd.SetErr(err)
		}
	}
}

// reportOutcomes reports the outcomes of a call, and returns calls for owners that may be shared holders.
func (b *serverRenewals) reportOutcomes(c *scriptRenewal) (shared []*scriptRenewal) {
	if c.script == scriptRenewShared {
		i, err := c.items[0], replies.Held(c.cmd.Val(), nil)
		if err != nil {
			b.engine.removeRecallable(b.engine.names(b.items[i].Key).value, b.items[i].Owner)
		}
		b.report(i, err)
		return nil
	}
	outcomes, _ := c.cmd.Val().(string)
	if len(outcomes) != len(c.items) {
		b.reportError(c.items, errReply)
		return nil
	}
	for at, i := range c.items {
		switch outcomes[at] {
		case '1':
			b.report(i, nil)
		case 'w':
			b.report(i, nil)
			b.engine.recallOwner(b.engine.names(b.items[i].Key).value, b.items[i].Owner)
		case '0':
			b.engine.wantedByOthers.Remove(b.items[i].Key)
			b.engine.removeRecallable(b.engine.names(b.items[i].Key).value, b.items[i].Owner)
			b.report(i, driver.ErrNotHeld)
		case 's':
			shared = append(shared, b.sharedRenewal(i, b.engine.names(b.items[i].Key)))
		case 'e':
			b.report(i, errWrongType)
		default:
			b.report(i, fmt.Errorf("%w: %q", errReply, outcomes[at]))
		}
	}
	return shared
}

func (b *serverRenewals) reportError(items []int, err error) {
	for _, i := range items {
		b.report(i, err)
	}
}
