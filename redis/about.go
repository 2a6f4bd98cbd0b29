package redis

import (
	"context"
	"fmt"

	"github.com/leasehold-go/leasehold/driver"
)

// Server is what a server says of itself.
type Server struct {
	// RunID is another one after each start.
	RunID string
	// Version is as in "7.0.15", or "Valkey 8.1.8".
	Version string
	// Replica is set if it follows a master.
	Replica bool
	// Cluster is set if it is part of a Cluster.
	Cluster bool
	// List is the word in its marker that says with which servers it is used, "-" if there is none. It is read only of a master that is no part of a
	// Cluster, by an engine with the guard that is one of several (see [Engine.Among]), and empty otherwise.
	List string
}

// Server asks the server what it is. It is for engines on one server; in a Cluster any node answers.
func (e *Engine) Server(ctx context.Context) (Server, error) {
	if e.ears.closed() {
		return Server{}, errClosed
	}
	// An AutoPipeliner would wait for longer than ctx lasts.
	type answer struct {
		facts facts
		list  string
		err   error
	}
	answered := make(chan answer, 1)
	go func() {
		f, err := inquire(ctx, e.client)
		list := ""
		if err == nil && e.among != nil && e.guard && !f.replica && !f.cluster() {
			list, err = e.listOf(ctx, e.client)
		}
		answered <- answer{f, list, err}
	}()
	select {
	case a := <-answered:
		return Server{a.facts.runID, a.facts.called(), a.facts.replica, a.facts.cluster(), a.list}, noEffect(a.err)
	case <-ctx.Done():
		return Server{}, driver.NoEffect(fmt.Errorf("redis: no answer: %w", ctx.Err()))
	}
}
