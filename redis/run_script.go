package redis

import (
	"cmp"
	"context"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/leasehold-go/leasehold/driver"
)

// run runs a script that may grant leases for one name, on the server that has the name. It appends the last argument,
// which is "1" if nothing may be granted now.
func (e *Engine) run(ctx context.Context, s script, n names, args ...any) (any, error) {
	return inTime(ctx, e, func(ctx context.Context) (any, error) {
		call := newScriptCall(n.allKeys(), append(args, "")...)
		answer, _, err := e.runScript(ctx, e.send, s, n, grantsUnlessFlagged, call)
		return answer, err
	}, nil)
}

// sendFunc sends one script, as send or runConfirmed do.
type sendFunc func(ctx context.Context, cmd singleCommand) (any, error)

// send sends one script.
func (e *Engine) send(ctx context.Context, cmd singleCommand) (any, error) {
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
	ctx context.Context, send sendFunc, s script, n names, policy grantPolicy, call scriptCall,
) (any, *server, error) {
	return retryWhileMoving(ctx, func() (any, *server, error) {
		return e.runScriptOnce(ctx, send, s, n, policy, call)
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
	ctx context.Context, send sendFunc, s script, n names, policy grantPolicy, call scriptCall,
) (any, *server, error) {
	srv, err := e.serverNow(ctx, n, policy)
	if err != nil {
		return nil, nil, err
	}
	for range 6 {
		listErr := e.router.checkNodeList(srv, policy)
		if listErr != nil && (s == scriptTake || s == scriptTakeAll) {
			return nil, srv, listErr
		}
		marker := e.router.markerOf(n, srv)
		if policy != neverGrants && marker.closedFor() > 0 && marker.isStale() { // somebody may have opened it
			if marker, err = e.router.refreshMarker(ctx, n, srv); err != nil && !redis.HasErrorPrefix(err, "NOSCRIPT") {
				return nil, nil, err
			}
		}
		switch closed := listErr != nil || marker.closedFor() > 0; {
		case closed && policy == grantsAlways:
			return nil, srv, errUseFullScript
		case closed && policy == grantsUnlessFlagged:
			call[len(call)-1] = "1"
		case policy == grantsUnlessFlagged:
			call[len(call)-1] = ""
		}
		var answer any
		answer, err = send(ctx, call.withMarker(srv.scripts, s, n).command(ctx, srv.scripts, s))
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

// serverNow returns the server that has a name.
func (e *Engine) serverNow(ctx context.Context, n names, policy grantPolicy) (*server, error) {
	if e.subscriptions.isClosed() {
		return nil, errClosed
	}
	srv, err := e.router.server(ctx, n, policy != neverGrants)
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
		return e.unsent.Send(owners...)
	}
	goOn := e.unsent.Ask(owners...)
	_, err := inTime(ctx, e, func(ctx context.Context) (*server, error) {
		_, srv, err := retryWhileMoving(ctx, func() (any, *server, error) {
			srv, err := e.serverNow(ctx, n, grantsAlways)
			return nil, srv, err
		})
		return srv, err
	}, nil)
	if err != nil && ctx.Err() != nil {
		err = driver.NoEffect(err) // the take itself was not sent
	}
	return cmp.Or(goOn(err == nil), err)
}

// grantPolicy says whether a script may grant a lease.
type grantPolicy int

const (
	neverGrants         grantPolicy = iota // it never grants
	grantsUnlessFlagged                    // it grants unless its last argument, which is set before sending, is "1"
	grantsAlways                           // it grants: do not run it while grants are closed
)
