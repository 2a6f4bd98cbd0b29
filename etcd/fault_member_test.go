package etcd_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/internal/etcdserver"
)

// A held lock stays held when the etcd leader is lost, as long as it is renewed, and its waiters wait until it is
// released.
func TestLeaderLostWhileHeldAndWaitedFor(t *testing.T) {
	t.Parallel()
	for name, end := range memberFaults {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := etcdserver.ClusterForTest(t, 3, fastConfig)
			a, b := engineOn(t, c.Addrs()...), engineOn(t, c.Addrs()...)
			r := newRequest("name")
			g := mustTake(t, a, r)
			w := joinQueue(t, b, newRequest("name"))
			leader, err := c.Leader()
			must(t, err)
			undo := end(t, leader)
			deadline := time.Now().Add(r.TTL)
			_, err = c.Leader() // another one
			must(t, err)
			mustRenew(t, a, r)
			if time.Now().After(deadline) {
				t.Error("it could not be renewed in time")
			}
			w.mustWait()
			mustRelease(t, a, r)
			token := w.mustBeGranted(g.Token)
			undo()
			if _, err := a.Take(t.Context(), newRequest("name")); err == nil {
				t.Error("two hold the lock")
			}
			mustRenew(t, b, w.request)
			mustRelease(t, b, w.request)
			if next := mustTake(t, a, newRequest("name")); next.Token <= token {
				t.Errorf("token %d follows %d", next.Token, token)
			}
		})
	}
}

// A frozen member costs limited time: each request ends with its context, and soon the client turns to the other
// members for good. So do waiters.
func TestFrozenMember(t *testing.T) {
	t.Parallel()
	c := etcdserver.ClusterForTest(t, 3, fastConfig)
	leader, err := c.Leader()
	must(t, err)
	const many = 6
	near := engineOn(t, leader.Addr())
	e := engineOn(t, c.Addrs()...)
	for i := range 3 * len(c.Members) { // through each member
		mustTake(t, e, newRequest(fmt.Sprint("before ", i)))
	}
	var held []driver.Request
	var waiters []*waitingCall
	for i := range many {
		r := newRequest(fmt.Sprint("name ", i))
		mustTake(t, near, r)
		held = append(held, r)
		// Some of them wait through the member that will be frozen.
		waiters = append(waiters, joinQueue(t, engineOn(t, c.Addrs()...), newRequest(r.Name)))
	}
	must(t, c.Others(leader)[0].Pause())
	began := time.Now()
	const limit = 500 * time.Millisecond
	for in, i := 0, 0; in < 2*len(c.Members); i++ { // until each member has answered, or been left
		ctx, cancel := context.WithTimeout(t.Context(), limit)
		sent := time.Now()
		r := newRequest(fmt.Sprint("try ", i))
		if _, err := e.Take(ctx, r); err == nil {
			in++
		} else if in = 0; driver.IsNo(err) {
			t.Fatalf("Take of what is free: %v", err)
		}
		if took := time.Since(sent); took > limit+time.Second {
			t.Errorf("a request with a limit of %v took %v", limit, took)
		}
		cancel()
		if time.Since(began) > testTimeout {
			t.Fatal("requests go to the frozen member for ever")
		}
	}
	if took := time.Since(began); took > 10*time.Second { // by then gRPC's pings would have found it
		t.Errorf("all requests went to the others only after %v", took)
	}
	for _, r := range held {
		mustRelease(t, near, r)
	}
	for _, w := range waiters {
		w.mustBeGranted(0)
	}
}

// All servers crash together. Held locks and waiters go on, and so do tokens.
func TestWholeClusterRestarted(t *testing.T) {
	t.Parallel()
	config := fastConfig
	config.Volatile = false
	c := etcdserver.ClusterForTest(t, 3, config)
	a, b := engineOn(t, c.Addrs()...), engineOn(t, c.Addrs()...)
	r := newRequest("name")
	r.TTL = time.Minute
	g := mustTake(t, a, r)
	w := joinQueue(t, b, newRequest("name"))
	c.Kill()
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	if err := renewOnce(ctx, a, r); err == nil || driver.IsNo(err) {
		t.Errorf("Renew without a server: %v", err)
	}
	must(t, c.Restart())
	mustRenew(t, a, r)
	w.mustWait()
	if _, err := engineOn(t, c.Addrs()...).Take(t.Context(), newRequest("name")); !errors.Is(err, driver.ErrHeld) {
		t.Errorf("Take: %v, want ErrHeld", err)
	}
	mustRelease(t, a, r)
	w.mustBeGranted(g.Token)
}
