package zookeeper

import (
	"testing"

	"github.com/go-zookeeper/zk"
)

// A gate that ends when its connection is gone lets nobody through: there is none to send anything on.
func TestGateOfAConnectionThatIsGone(t *testing.T) {
	t.Parallel()
	l := &line{gated: true}
	c := &client{line: l, turn: make(chan struct{})}
	c.event(zk.Event{Type: zk.EventSession, State: zk.StateDisconnected})
	c.openGate(l)
	if c.up {
		t.Error("requests are let through without a connection")
	}
}
