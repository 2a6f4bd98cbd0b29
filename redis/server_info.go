package redis

import (
	"context"

	"github.com/leasehold-go/leasehold/internal/detach"
)

// Server is what a server says of itself.
type Server struct {
	// RunID changes with each start.
	RunID string
	// Version is "7.0.15", or "Valkey 8.1.8".
	Version string
	// Replica is set if the server follows a master.
	Replica bool
	// Cluster is set if the server is part of a Cluster.
	Cluster bool
	// List is the word in the server's marker that says with which servers it is used, "-" if with none. It is read
	// only by an engine with the guard that is one of several (see [Engine.Among]), and only from a master outside a
	// Cluster. It is empty otherwise.
	List string
}

// Server asks the server what it is. It is for engines on one server; in a Cluster any node answers.
func (e *Engine) Server(ctx context.Context) (Server, error) {
	if e.subscriptions.isClosed() {
		return Server{}, errClosed
	}
	return detach.Do(ctx, &e.workers, e.askServerInfo, nil)
}

func (e *Engine) askServerInfo(ctx context.Context) (Server, error) {
	info, err := askInfo(ctx, e.client)
	list := ""
	if err == nil && e.nodeList != nil && e.guard && !info.isReplica && !info.isCluster() {
		list, err = e.readListHash(ctx, e.client)
	}
	return Server{
		RunID:   info.runID,
		Version: info.displayVersion(),
		Replica: info.isReplica,
		Cluster: info.isCluster(),
		List:    list,
	}, noEffect(err)
}
