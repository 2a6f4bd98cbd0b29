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

// What is held stays held when the leader is lost, as long as it is renewed, and who waits goes on waiting until it is released.
func TestLeaderLostWhileHeldAndWaitedFor(t *testing.T) {
	t.Parallel()
	for name, end := range ends {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := etcdserver.ClusterForTest(t, 3, quick)
			a, b := engineOn(t, c.Addrs()...), engineOn(t, c.Addrs()...)
			r := asked("name")
			g := taken(t, a, r)
			w := joined(t, b, asked("name"))
			leader, err := c.Leader()
			must(t, err)
			undo := end(t, leader)
			deadline := time.Now().Add(r.TTL)
			_, err = c.Leader() // another one
			must(t, err)
			stillHeld(t, a, r)
			if time.Now().After(deadline) {
				t.Error("it could not be renewed in time")
			}
			w.waits()
			released(t, a, r)
			token := w.granted(g.Token)
			undo()
			if _, err := a.Take(t.Context(), asked("name")); err == nil {
				t.Error("two hold the lock")
			}
			stillHeld(t, b, w.request)
			released(t, b, w.request)
			if next := taken(t, a, asked("name")); next.Token <= token {
				t.Errorf("token %d follows %d", next.Token, token)
			}
		})
	}
}

// A frozen member costs bounded time: each request ends with its context, and before long the client turns to the others for good. So do those who wait.
func TestFrozenMember(t *testing.T) {
	t.Parallel()
	c := etcdserver.ClusterForTest(t, 3, quick)
	leader, err := c.Leader()
	must(t, err)
	const many = 6
	near := engineOn(t, leader.Addr())
	e := engineOn(t, c.Addrs()...)
	for i := range 3 * len(c.Members) { // by way of each
		taken(t, e, asked(fmt.Sprint("before ", i)))
	}
	var held []driver.Request
	var waiters []*waiting
	for i := range many {
		r := asked(fmt.Sprint("name ", i))
		taken(t, near, r)
		held = append(held, r)
		waiters = append(waiters, joined(t, engineOn(t, c.Addrs()...), asked(r.Name))) // some of them by way of the member that will be frozen
	}
	must(t, c.Others(leader)[0].Pause())
	began := time.Now()
	const limit = 500 * time.Millisecond
	for in, i := 0, 0; in < 2*len(c.Members); i++ { // each member's turn has come
		ctx, cancel := context.WithTimeout(t.Context(), limit)
		sent := time.Now()
		r := asked(fmt.Sprint("try ", i))
		if _, err := e.Take(ctx, r); err == nil {
			in++
		} else if in = 0; driver.IsNo(err) {
			t.Fatalf("Take of what is free: %v", err)
		}
		if took := time.Since(sent); took > limit+time.Second {
			t.Errorf("a request with a limit of %v took %v", limit, took)
		}
		cancel()
		if time.Since(began) > patience {
			t.Fatal("requests go to the frozen member for ever")
		}
	}
	if took := time.Since(began); took > 10*time.Second { // from then on the pings of gRPC would tell
		t.Errorf("all requests went to the others only after %v", took)
	}
	for _, r := range held {
		released(t, near, r)
	}
	for _, w := range waiters {
		w.granted(0)
	}
}

// All servers crash together. What is held and waited for goes on, and tokens do.
func TestWholeClusterRestarted(t *testing.T) {
	t.Parallel()
	config := quick
	config.Volatile = false
	c := etcdserver.ClusterForTest(t, 3, config)
	a, b := engineOn(t, c.Addrs()...), engineOn(t, c.Addrs()...)
	r := asked("name")
	r.TTL = time.Minute
	g := taken(t, a, r)
	w := joined(t, b, asked("name"))
	c.Kill()
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	if err := renew(ctx, a, r); err == nil || driver.IsNo(err) {
		t.Errorf("Renew without a server: %v", err)
	}
	must(t, c.Restart())
	stillHeld(t, a, r)
	w.waits()
	if _, err := engineOn(t, c.Addrs()...).Take(t.Context(), asked("name")); !errors.Is(err, driver.ErrHeld) {
		t.Errorf("Take: %v, want ErrHeld", err)
	}
	released(t, a, r)
	w.granted(g.Token)
}
