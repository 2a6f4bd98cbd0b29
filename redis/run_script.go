package redis

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/redis/internal/luascript"
)

// How a script is run, from the outside in:
//
//   - run: any script with all keys of one name, for callers that may leave when their context ends.
//   - runFree (free_request.go): a take or release of a name that is likely to be free.
//   - runScript: runScriptOnce, and again while the slot of the name is moving.
//   - runScriptOnce: finds the server and checks that it may grant. If another server answers, it finds that one, and
//     sends again.
//   - send, or sendWithReplicas (replicas.go), which also waits for replicas to confirm: one command to the server.

// run runs a script with all keys of one name, on the server that has the name.
func (e *Engine) run(ctx context.Context, s script, n names, args ...any) (any, error) {
	return inTime(ctx, e, func(ctx context.Context) (any, error) {
		answer, _, err := e.runScript(ctx, e.send, s, n, newScriptCall(n.allKeys(), args...))
		return answer, err
	}, nil)
}

// sendFunc sends one script, as send or sendWithReplicas do.
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

// runScript runs a script with the given send function, and returns the server on which it ran. While the slot of the
// name is moving to another server, it retries until ctx ends: the script had no effect then, and a move is mostly
// short.
func (e *Engine) runScript(
	ctx context.Context, send sendFunc, s script, n names, call scriptCall,
) (any, *server, error) {
	return retryWhileMoving(ctx, func() (any, *server, error) {
		return e.runScriptOnce(ctx, send, s, n, call)
	})
}

// retryWhileMoving retries until the slot has moved, or ctx ends.
func retryWhileMoving(ctx context.Context, try func() (any, *server, error)) (any, *server, error) {
	for pause := movingPauseMin; ; pause = min(2*pause, movingPauseMax) {
		answer, srv, err := try()
		if err == nil || !isMoving(err) {
			return answer, srv, err
		}
		timer := time.NewTimer(pause)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return answer, srv, err
		}
	}
}

// Pauses between requests for a name whose slot is moving.
const movingPauseMin, movingPauseMax = 10 * time.Millisecond, 200 * time.Millisecond

// runScriptOnce is runScript without retries for moving slots.
func (e *Engine) runScriptOnce(
	ctx context.Context, send sendFunc, s script, n names, call scriptCall,
) (any, *server, error) {
	policy := s.grantPolicy()
	srv, err := e.serverNow(ctx, n, policy != grantsNever)
	if err != nil {
		return nil, nil, err
	}
	if policy == grantsUnlessClosed {
		call = append(call, "")
	}
	for range 6 {
		closed, err := e.areGrantsClosed(ctx, s, n, srv)
		switch {
		case err != nil:
			return nil, srv, err
		case closed && policy == grantsAlways:
			return nil, srv, errGrantsClosed
		case policy == grantsUnlessClosed:
			call[len(call)-1] = flagArg(closed)
		}
		answer, err := send(ctx, call.withMarker(srv.scripts, s, n).command(ctx, srv.scripts, s))
		if err == nil {
			return answer, srv, nil
		}
		if redis.HasErrorPrefix(err, errCodeClosed) {
			if _, err = e.router.refreshMarker(ctx, n, srv); err == nil {
				continue
			}
		}
		if !redis.HasErrorPrefix(err, "NOSCRIPT") {
			e.router.reloadSlotMapIfStale(n, err)
			if isMoving(err) {
				e.router.noteMovingSlot(ctx, n)
			}
			e.router.noteNoAnswer(ctx, n, err)
			return answer, srv, aboutKeys(n, e.router.accessPattern(), explainError(err))
		}
		if srv, err = e.router.findServer(ctx, n, srv); err != nil {
			if isMoving(err) { // the client was redirected to where the slot is going
				e.router.noteMovingSlot(ctx, n)
			}
			return nil, nil, err
		}
	}
	return nil, nil, errScripts
}

// errGrantsClosed says that a script was not sent, because it would grant, and grants are closed.
var errGrantsClosed = driver.NoEffect(errors.New("redis: grants are closed"))

// areGrantsClosed reports whether a server grants nothing now, as far as is known, to a script that may grant.
func (e *Engine) areGrantsClosed(ctx context.Context, s script, n names, srv *server) (closed bool, err error) {
	if s.grantPolicy() == grantsNever {
		return false, nil
	}
	listErr := e.router.checkNodeList(srv)
	if listErr != nil && (s == scriptTake || s == scriptTakeAll) {
		return false, listErr
	}
	marker := e.router.markerOf(n, srv)
	if marker.closedFor() > 0 && marker.isStale() { // somebody may have opened it
		marker, err = e.router.refreshMarker(ctx, n, srv)
		if err != nil && !redis.HasErrorPrefix(err, "NOSCRIPT") { // what is sent next gets that answer, too
			return false, err
		}
	}
	return listErr != nil || marker.closedFor() > 0, nil
}

// serverNow returns the server that has a name. With toGrant, it is one that may grant leases as far as is known.
func (e *Engine) serverNow(ctx context.Context, n names, toGrant bool) (*server, error) {
	if e.subscriptions.IsClosed() {
		return nil, errClosed
	}
	srv, err := e.router.server(ctx, n, toGrant)
	if err != nil {
		if isMoving(err) {
			e.router.noteMovingSlot(ctx, n)
		}
		e.router.noteNoAnswer(ctx, n, err)
	}
	return srv, err
}

// awaitServer makes sure for a take that the first server is known. It fails if the take must not be sent, because an
// owner was released meanwhile.
func (e *Engine) awaitServer(ctx context.Context, n names, owners ...string) error {
	if e.router.routes.Load() != nil {
		return e.unsent.NoteSent(owners...)
	}
	goOn := e.unsent.NotePending(owners...)
	_, err := inTime(ctx, e, func(ctx context.Context) (*server, error) {
		_, srv, err := retryWhileMoving(ctx, func() (any, *server, error) {
			srv, err := e.serverNow(ctx, n, true)
			return nil, srv, err
		})
		return srv, err
	}, nil)
	if err != nil && ctx.Err() != nil {
		err = driver.NoEffect(err) // the take itself was not sent
	}
	return cmp.Or(goOn(err == nil), err)
}
