//go:build unix

package main

import (
	"sync/atomic"
	"testing"
	"time"
)

// pace is the longest time for which this machine has kept the test process from running. Where the command has half a
// second to spare, a machine that takes that much from everybody cannot be judged.
type pace struct{ longest atomic.Int64 }

const (
	paceBeat = 10 * time.Millisecond
	// A machine that delays nobody for longer is quick enough to be judged.
	quick = 100 * time.Millisecond
)

// keepPace measures until the test ends.
func keepPace(t *testing.T) *pace {
	p := &pace{}
	go func() {
		for t.Context().Err() == nil {
			began := time.Now()
			time.Sleep(paceBeat)
			p.longest.Store(max(p.longest.Load(), int64(time.Since(began)-paceBeat)))
		}
	}()
	return p
}

// wantBefore fails the test if the deadline has passed.
func (p *pace) wantBefore(t *testing.T, deadline time.Time) {
	t.Helper()
	late := time.Since(deadline)
	switch stall := time.Duration(p.longest.Load()); {
	case late < 0:
	case stall > quick:
		t.Logf("no verdict: %s after the deadline, on a machine that has kept this process waiting for %s", late, stall)
	default:
		t.Errorf("the group had until the deadline, and took %s longer", late)
	}
}
