package javaside

import (
	"context"
	"errors"
	"time"
)

// Turns says how one thread of a client locks and unlocks one name again and again.
type Turns struct {
	// Kind is lock, fair, spin, fenced, read or write.
	Kind string
	For  time.Duration
	// Hold is how long each hold lasts.
	Hold time.Duration
	// Register is the address of a register that is told of each hold by the client's name, or "".
	Register string
}

// Turn is one turn of a thread.
type Turn struct {
	Granted time.Time     // when
	Waited  time.Duration // for the grant
	Took    time.Duration // from the end of the last turn to that of this one
}

// Turns lets the thread of a call take turns, and returns what it has measured. If ctx ends, the thread is interrupted,
// and finished is false if it waited for one more turn. [RFencedLock] cannot be interrupted.
//
// [RFencedLock]: https://javadoc.io/doc/org.redisson/redisson/latest/org/redisson/api/RFencedLock.html
func (p *Program) Turns(ctx context.Context, client, name string, t Turns) (turns []Turn, finished bool, err error) {
	const thread = "turns"
	args := map[string]any{"kind": t.Kind, "runFor": t.For.Milliseconds(), "hold": t.Hold.Microseconds()}
	if t.Register != "" {
		args["register"] = t.Register
	}
	call := p.send(map[string]any{"client": client, "thread": thread, "op": "turns", "name": name, "args": args})
	select {
	case <-call.Done():
	case <-ctx.Done():
		if err := p.Interrupt(context.WithoutCancel(ctx), client, thread); err != nil {
			return nil, false, err
		}
	}
	v, err := call.Wait(context.WithoutCancel(ctx))
	if err != nil {
		return nil, false, err
	}
	all, _ := v.(map[string]any)
	measured, _ := all["turns"].([]any)
	finished, ok := all["finished"].(bool)
	began, isTime := all["began"].(int64)
	if !ok || !isTime || len(measured)%3 != 0 {
		return nil, false, errors.New("javaside: the answer to turns has another form")
	}
	for i := 0; i < len(measured); i += 3 {
		at := func(k int) time.Duration { n, _ := measured[i+k].(int64); return time.Duration(n) }
		turns = append(turns, Turn{time.Unix(0, began).Add(at(0)), at(1), at(2)})
	}
	return turns, finished, nil
}
