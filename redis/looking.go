package redis

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/leasehold-go/leasehold/driver"
)

// initLooking prepares the place for those who look. It is one of its own, so that a server that was only looked at has not been met for locking: that
// takes the right to write, and leaves a marker.
//
// A client that may read from replicas would send EVALSHA_RO there, where the scripts are not known: it sends EVALSHA, and so needs the right to write for that, too.
func (e *Engine) initLooking() {
	e.sights.init(e.client, &e.config)
	e.sights.looking, e.sights.evalsha = true, evalshaToLook
	if e.mayReadReplicas() {
		e.sights.evalsha = evalsha
	}
}

// mayReadReplicas reports whether the client may send what only reads to replicas. An AutoPipeliner does not show what client it has, but is to have
// WithPolling over one that does.
func (e *Engine) mayReadReplicas() bool {
	if nodes, ok := e.client.(*redis.ClusterClient); ok {
		return nodes.Options().ReadOnly
	}
	return e.pipe != nil && e.polling
}

// command is the one by which a server is asked to look.
func (p *place) command(l glance, on *server) string {
	if l.aloud && on.loud {
		return evalsha
	}
	return p.evalsha
}

// access is how the keys of a name are needed there, as in words of ACL SETUSER.
func (p *place) access() string {
	if p.looking {
		return "%R"
	}
	return ""
}

// peek runs a script that looks, on the server that keeps a name. While the slot of the name is on its way to another server, it tries again, as runBy does.
func (e *Engine) peek(ctx context.Context, l glance) (any, error) {
	answer, _, err := whileMoving(ctx, func() (any, *server, error) { return e.peekNow(ctx, l) })
	return answer, err
}

// peekNow is peek that does not wait for anything.
func (e *Engine) peekNow(ctx context.Context, l glance) (any, *server, error) {
	if e.ears.closed() {
		return nil, nil, errClosed
	}
	on, err := e.sights.server(ctx, l.names, false)
	for try := range 6 {
		if err != nil {
			return nil, nil, err
		}
		by := e.sights.command(l, on)
		if try >= 2 { // the scripts have been loaded, and are not where it was sent: at a replica
			by = evalsha
		}
		var answer any
		answer, err = e.evaluate(ctx, newWords(l.keys, l.args...).send(ctx, by, on.program, l.script))
		switch {
		case err == nil:
			return answer, on, nil
		case l.aloud && on.loud && isDenied(err): // with the keys of this name
			l.aloud, err = false, nil
		case by != e.sights.evalsha && isDenied(err): // the last resort of who may not write
			return nil, on, errScripts
		case redis.HasErrorPrefix(err, "NOSCRIPT"):
			on, err = e.sights.learn(ctx, l.names, on)
		default:
			e.sights.doubt(l.names, err)
			return nil, on, aboutKeys(l.names, e.sights.access(), explain(err))
		}
	}
	return nil, nil, errScripts
}

// closedBy asks for how long grants are closed, without leaving a marker where there is none.
func (e *Engine) closedBy(ctx context.Context) (time.Duration, error) {
	n := e.names(driver.Key{Kind: driver.Lock, Name: "any"})
	m, err := readMark(e.peek(ctx, glance{script: guard, names: n, keys: []string{e.sights.marker(n)}, args: append(e.guardArgs(-1), "look")}))
	return m.left, err
}
