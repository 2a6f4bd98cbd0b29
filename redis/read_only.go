package redis

import (
	"context"

	"github.com/redis/go-redis/v9"
)

// initReadRouter prepares the router for requests that only read. It is separate so that reading from a server does not
// initialize it for locking, which needs the right to write and leaves a marker.
//
// A client that may read from replicas would send EVALSHA_RO to them, and they do not know the scripts. So with such a
// client the router uses EVALSHA, and reading needs the right to write, too.
func (e *Engine) initReadRouter() {
	e.readRouter.init(e.client, &e.config)
	e.readRouter.readOnly, e.readRouter.readCommand = true, evalshaReadOnly
	if e.mayReadReplicas() {
		e.readRouter.readCommand = evalsha
	}
}

// mayReadReplicas reports whether the client may send requests that only read to replicas. An AutoPipeliner does not
// show what client it has. Over a client that reads from replicas it needs WithPolling, so that is what counts.
func (e *Engine) mayReadReplicas() bool {
	if nodes, ok := e.client.(*redis.ClusterClient); ok {
		return nodes.Options().ReadOnly
	}
	return e.asyncPipe != nil && e.polling
}

// readCommandFor returns the command that runs a call on a server.
func (rt *router) readCommandFor(c readCall, srv *server) string {
	if c.mayPublish && srv.readsMayPublish {
		return evalsha
	}
	return rt.readCommand
}

// accessPattern returns the access to keys that the router needs, as ACL SETUSER writes it.
func (rt *router) accessPattern() string {
	if rt.readOnly {
		return "%R"
	}
	return ""
}

// runReadOnly runs a script that only reads, on the server that has the name. It retries while the slot of the name is
// moving, like runScript.
func (e *Engine) runReadOnly(ctx context.Context, c readCall) (any, error) {
	return inTime(ctx, e, func(ctx context.Context) (answer any, err error) {
		err = retryWhileMoving(ctx, func() error {
			answer, err = e.runReadOnlyOnce(ctx, c)
			return err
		})
		return answer, err
	}, nil)
}

// runReadOnlyOnce is runReadOnly without retries for moving slots.
func (e *Engine) runReadOnlyOnce(ctx context.Context, c readCall) (any, error) {
	if e.subscriptions.IsClosed() {
		return nil, errEngineClosed
	}
	srv, err := e.readRouter.server(ctx, c.names, false)
	for try := range 6 {
		if err != nil {
			return nil, err
		}
		by := e.readRouter.readCommandFor(c, srv)
		if try >= 2 { // the scripts were loaded, and are still unknown: a replica got the call
			by = evalsha
		}
		var answer any
		answer, err = e.send(ctx, newScriptCall(c.keys, c.args...).commandBy(ctx, by, srv.scripts, c.script))
		switch {
		case err == nil:
			return answer, nil
		case c.mayPublish && srv.readsMayPublish && isDenied(err): // denied for the keys of this name
			c.mayPublish, err = false, nil
		case by != e.readRouter.readCommand && isDenied(err): // EVALSHA was the last resort, and the user may not write
			return nil, errScripts
		case redis.HasErrorPrefix(err, "NOSCRIPT"):
			srv, err = e.readRouter.findServer(ctx, c.names, srv)
		default:
			e.readRouter.reloadSlotMapIfStale(c.names, err)
			return nil, aboutKeys(c.names, e.readRouter.accessPattern(), explainError(err))
		}
	}
	return nil, errScripts
}
