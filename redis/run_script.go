package redis

import (
	"cmp"
	"context"
	"errors"

	"github.com/redis/go-redis/v9"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/redis/internal/luascript"
)

// How a script is run, from the outside in:
//
//   - run: any script with all keys of one name, for callers that may leave when their context ends.
//   - runUncontended (uncontended.go): a take or release for which nobody is likely to wait.
//   - runScript: runScriptOnce, in a Cluster again and again while the slot of the name is moving.
//   - runScriptOnce: finds the server and checks that it may grant. If another server answers (NOSCRIPT), it finds that
//     one, and sends again.
//   - send, or sendWithReplicas (replicas.go), which also waits for replicas to confirm: one command to the server.
//     run and sendWithReplicas use sendPipelined instead: a single server gets those of many goroutines in one write.
//
// These have a loop of their own for NOSCRIPT: renewals, which send many scripts at once (sendUntilKnown in renew.go),
// scripts that only read (read_only.go), and those about markers, which ask no marker (marker.go, guard_slots.go,
// guard_moving.go).

// run runs a script with all keys of one name, on the server that has the name.
func (e *Engine) run(ctx context.Context, s script, n redisKeys, args ...any) (any, error) {
	return inTime(ctx, e, func(ctx context.Context) (any, error) {
		answer, _, err := e.runScript(ctx, e.sendPipelined, s, n, newScriptCall(n.allKeys(), args...))
		return answer, err
	}, nil)
}

// sendFunc sends one script, as send, sendPipelined and sendWithReplicas do.
type sendFunc func(ctx context.Context, cmd luascript.SingleCommand) (any, error)

// send sends one script.
func (e *Engine) send(ctx context.Context, cmd luascript.SingleCommand) (any, error) {
	var err error
	if e.asyncPipe == nil {
		err = e.client.Process(ctx, cmd)
	} else {
		err = e.asyncPipe.Submit(ctx, cmd).WaitContext(ctx)
	}
	if err != nil {
		return nil, err
	}
	return cmd.Val(), nil
}

// sendPipelined sends one script, to a single server in one write with those of other goroutines; see [pipeliner].
func (e *Engine) sendPipelined(ctx context.Context, cmd luascript.SingleCommand) (any, error) {
	if e.asyncPipe != nil || !e.router.isSingle() {
		return e.send(ctx, cmd)
	}
	if err := e.pipeliner.send(ctx, cmd, e.mustReturnInTime(ctx)); err != nil {
		return nil, err
	}
	return cmd.Val(), nil
}

// runScript runs a script with the given send function, and returns the server on which it ran. In a Cluster it retries
// while the slot of the name is moving, until ctx ends: the script had no effect then, and a move is mostly short.
func (e *Engine) runScript(
	ctx context.Context, send sendFunc, s script, n redisKeys, call scriptCall,
) (answer any, srv *server, err error) {
	if e.router.isSingle() {
		return e.runScriptOnce(ctx, send, s, n, call)
	}
	err = retryWhileMoving(ctx, func() error {
		answer, srv, err = e.runScriptOnce(ctx, send, s, n, call)
		return err
	})
	return answer, srv, err
}

// runScriptOnce is runScript without retries for moving slots.
func (e *Engine) runScriptOnce(
	ctx context.Context, send sendFunc, s script, n redisKeys, call scriptCall,
) (any, *server, error) {
	srv, err := e.serverFor(ctx, n, s.mayGrant())
	if err != nil {
		return nil, nil, err
	}
	for range 6 { // a server may be another one, or lack scripts, several times in a row
		closed, err := e.areGrantsClosed(ctx, s, n, srv)
		if err != nil {
			return nil, srv, err
		}
		answer, err := send(ctx, call.checked(srv.scripts, s, n, closed).command(ctx, srv.scripts, s))
		if err == nil {
			return answer, srv, nil
		}
		if srv, err = e.afterFailure(ctx, n, srv, err); err != nil {
			return answer, srv, err
		}
	}
	return nil, nil, errScripts
}

// afterFailure handles the error of a script. It returns the server that the script must be sent to next, or the same
// server and the error for the caller.
func (e *Engine) afterFailure(ctx context.Context, n redisKeys, srv *server, err error) (*server, error) {
	if isShortfall(err) {
		return srv, err // the script ran
	}
	if redis.HasErrorPrefix(err, errCodeClosed) { // the slot has been closed
		if _, err = e.router.refreshMarker(ctx, n, srv); err == nil {
			return srv, nil
		}
	}
	if redis.HasErrorPrefix(err, "NOSCRIPT") {
		next, err := e.router.findServer(ctx, n, srv)
		e.router.noteFailure(ctx, n, err) // the client may have been redirected to where the slot is going
		return next, err
	}
	e.router.reloadSlotMapIfStale(n, err)
	e.router.noteFailure(ctx, n, err)
	return srv, aboutKeys(n, e.router.accessPattern(), explainError(err))
}

// errGrantsClosed says that a script was not sent, because it would grant, and grants are closed.
var errGrantsClosed = driver.NoEffect(errors.New("redis: grants are closed"))

// areGrantsClosed reports whether a server grants nothing now, as far as is known, to a script that may grant. For one
// that cannot be told so, the error is errGrantsClosed.
func (e *Engine) areGrantsClosed(ctx context.Context, s script, n redisKeys, srv *server) (closed bool, err error) {
	if !s.mayGrant() {
		return false, nil
	}
	listErr := e.router.checkNodeList(srv) // not nil only on a node of redlock
	if listErr != nil && (s == scriptTake || s == scriptTakeAll) {
		return true, listErr
	}
	marker := e.router.markerOf(n, srv)
	if marker.closedFor() > 0 && marker.isStale() { // somebody may have opened it
		marker, err = e.router.refreshMarker(ctx, n, srv)
		if err != nil && !redis.HasErrorPrefix(err, "NOSCRIPT") { // what is sent next gets that answer, too
			return true, err
		}
	}
	closed = listErr != nil || marker.closedFor() > 0
	if closed && s.grantPolicy() == grantsWhenSent {
		return true, errGrantsClosed
	}
	return closed, nil
}

// serverFor returns the server that has a name. For a script that may grant, it has been verified recently enough.
func (e *Engine) serverFor(ctx context.Context, n redisKeys, mayGrant bool) (*server, error) {
	if e.subscriptions.IsClosed() {
		return nil, errEngineClosed
	}
	srv, err := e.router.server(ctx, n, mayGrant)
	e.router.noteFailure(ctx, n, err)
	return srv, err
}

// awaitServer makes sure for a take that the first server is known. It fails if the take must not be sent, because an
// owner was released meanwhile.
func (e *Engine) awaitServer(ctx context.Context, n redisKeys, owners ...string) error {
	if e.router.routes.Load() != nil {
		return e.unsent.NoteSent(owners...)
	}
	goOn := e.unsent.NotePending(owners...)
	_, err := inTime(ctx, e, func(ctx context.Context) (struct{}, error) {
		return struct{}{}, retryWhileMoving(ctx, func() error {
			_, err := e.serverFor(ctx, n, true)
			return err
		})
	}, nil)
	if err != nil && ctx.Err() != nil {
		err = driver.NoEffect(err) // the take itself was not sent
	}
	return cmp.Or(goOn(err == nil), err)
}
