package redis

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"
)

// run runs a script that may grant leases for one name, on the server that keeps it. The last argument is added: "1" if none may be
// granted now.
func (e *Engine) run(ctx context.Context, s script, n names, args ...any) (any, error) {
	answer, _, err := e.runBy(ctx, e.evaluate, s, n, flagged, newWords(n.all(), append(args, "")...))
	return answer, err
}

// evaluate sends one script.
func (e *Engine) evaluate(ctx context.Context, cmd once) (any, error) {
	var err error
	if e.pipe == nil {
		err = e.client.Process(ctx, cmd)
	} else {
		err = e.pipe.Submit(ctx, cmd).WaitContext(ctx)
	}
	if err != nil {
		return nil, err
	}
	return cmd.Val(), nil
}

// runBy runs a script by a way of sending it, and says on which server it ran. While the slot of the name is on its way to another server, it tries
// again until ctx ends: nothing has been done, and it mostly takes a moment.
func (e *Engine) runBy(ctx context.Context, send func(context.Context, once) (any, error), s script, n names, may may, w words) (any, *server, error) {
	return whileMoving(ctx, func() (any, *server, error) { return e.runNow(ctx, send, s, n, may, w) })
}

// whileMoving tries again for as long as a slot is on its way to another server, until ctx ends.
func whileMoving(ctx context.Context, try func() (any, *server, error)) (any, *server, error) {
	for pause := firstPause; ; pause = min(2*pause, longestPause) {
		answer, on, err := try()
		if err == nil || !moving(err) {
			return answer, on, err
		}
		timer := time.NewTimer(pause)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return answer, on, err
		}
	}
}

// Pauses between two requests for a name whose slot is being moved.
const firstPause, longestPause = 10 * time.Millisecond, 200 * time.Millisecond

// runNow is runBy that does not wait for anything.
func (e *Engine) runNow(ctx context.Context, send func(context.Context, once) (any, error), s script, n names, may may, w words) (any, *server, error) {
	if e.ears.closed() {
		return nil, nil, errClosed
	}
	on, err := e.place.server(ctx, n, may != never)
	if err != nil {
		if moving(err) {
			e.place.meetMoving(ctx, n)
		}
		e.place.meetSilence(ctx, n, err)
		return nil, nil, err
	}
	for range 6 {
		elsewhere := e.place.mayGrant(on, may)
		if elsewhere != nil && (s == take || s == takeAll) {
			return nil, on, elsewhere
		}
		gate := e.place.gate(n, on)
		if may != never && gate.closedFor() > 0 && gate.old() { // somebody may have opened it
			if gate, err = e.place.look(ctx, n, on); err != nil && !redis.HasErrorPrefix(err, "NOSCRIPT") {
				return nil, nil, err
			}
		}
		switch closed := elsewhere != nil || gate.closedFor() > 0; {
		case closed && may == ifOpen:
			return nil, on, errAsk
		case closed && may == flagged:
			w[len(w)-1] = "1"
		case may == flagged:
			w[len(w)-1] = ""
		}
		var answer any
		answer, err = send(ctx, w.guarded(on.program, s, n).command(ctx, on.program, s))
		if err == nil {
			return answer, on, nil
		}
		if redis.HasErrorPrefix(err, shut) {
			if _, err = e.place.look(ctx, n, on); err == nil {
				continue
			}
		}
		if !redis.HasErrorPrefix(err, "NOSCRIPT") {
			e.place.doubt(n, err)
			if moving(err) {
				e.place.meetMoving(ctx, n)
			}
			e.place.meetSilence(ctx, n, err)
			return answer, on, aboutKeys(n, e.place.access(), explain(err))
		}
		if on, err = e.place.learn(ctx, n, on); err != nil {
			if moving(err) { // the client was sent on to where the slot is going
				e.place.meetMoving(ctx, n)
			}
			return nil, nil, err
		}
	}
	return nil, nil, errScripts
}

// may says whether a script may grant a lease.
type may int

const (
	never   may = iota // it never does
	flagged            // not if its last argument, which is replaced, is "1"
	ifOpen             // it does: it is not to be run while grants are closed
)
