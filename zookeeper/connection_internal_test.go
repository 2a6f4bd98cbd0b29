package zookeeper

import (
	"testing"

	"github.com/go-zookeeper/zk"
)

// When the wait for watches ends after its connection is closed, requests are not admitted: there is no connection to
// send them on.
func TestClosedConnectionAdmitsNoRequests(t *testing.T) {
	t.Parallel()
	l := &connection{awaitsWatches: true}
	c := &client{connection: l, changed: make(chan struct{})}
	c.onEvent(zk.Event{Type: zk.EventSession, State: zk.StateDisconnected})
	c.admitRequests(l)
	if c.isUp {
		t.Error("requests are let through without a connection")
	}
}
