package zookeeper

import (
	"testing"

	"github.com/leasehold-go/leasehold/internal/zookeeperserver"
)

// SharedServer returns the server for tests that do not break it, and use names of their own.
func SharedServer(t testing.TB) *zookeeperserver.Server { return server(t) }

// SessionOf returns the id of the session of an engine.
func SessionOf(e *Engine) int64 {
	session, _ := e.client.current()
	return session
}
