package javaside

import (
	"context"
	"fmt"
	"time"
)

// Hammer says how threads of a client take and hold one name at random.
type Hammer struct {
	// Kinds are those of which each hold takes one at random: lock, fair, spin, fenced, nonReentrant, read, write,
	// multi, red, semaphore or permits.
	Kinds   []string
	Threads int
	For     time.Duration
	// Hold is the longest hold, Pause the longest pause between two of them, and Wait the longest wait of those takes
	// that wait with a limit. Others do not wait, or wait without a limit.
	Hold, Pause, Wait time.Duration
	// Lease is an explicit lease. Default: the watchdog.
	Lease time.Duration
	// Permits is how many permits a take asks for at most. Default: 1.
	Permits int
	// Again is the percentage of holds that take the lock twice.
	Again int
	// Register is the address of the register that is told of each hold, by "CLIENT-java0" and so on.
	Register string
	Seed     int64
}

// Hammered is what the threads of a hammer did.
type Hammered struct {
	Holds, Refused int64
	Failures       []string // exceptions, each of which has ended a thread
}

// Hammer lets threads of a client contend for a name, and returns when they have ended: after Hammer.For and the last
// waits.
func (p *Program) Hammer(ctx context.Context, client, name string, h Hammer) (Hammered, error) {
	args := map[string]any{
		"kinds": h.Kinds, "threads": h.Threads, "runFor": h.For.Milliseconds(), "hold": h.Hold.Milliseconds(),
		"pause": h.Pause.Milliseconds(), "wait": max(1, h.Wait.Milliseconds()), "lease": h.Lease.Milliseconds(),
		"permits": max(1, h.Permits), "again": h.Again, "register": h.Register, "seed": h.Seed,
	}
	v, err := p.send(map[string]any{
		"client": client, "thread": "hammer " + name, "op": "hammer", "name": name, "args": args,
	}).Wait(ctx)
	if err != nil {
		return Hammered{}, err
	}
	counts, ok := v.(map[string]any)
	if !ok {
		return Hammered{}, fmt.Errorf("javaside: a hammer has returned %v", v)
	}
	var did Hammered
	did.Holds, _ = counts["holds"].(int64)
	did.Refused, _ = counts["refused"].(int64)
	failures, _ := counts["failures"].([]any)
	for _, f := range failures {
		did.Failures = append(did.Failures, fmt.Sprint(f))
	}
	return did, nil
}
