package zookeeper_test

import (
	"context"
	"errors"
	"net"
	"sync/atomic"
	"testing"

	"github.com/leasehold-go/leasehold/internal/zookeeperserver"
	"github.com/leasehold-go/leasehold/zookeeper"
)

// All connections are opened by the caller's dialer, with a limited context.
func TestDialer(t *testing.T) {
	t.Parallel()
	s := zookeeperserver.ForTest(t, zookeeperserver.Config{})
	var dialed atomic.Int32
	e, err := zookeeper.New(
		t.Context(),
		[]string{s.Addr()},
		zookeeper.WithDialer(func(ctx context.Context, network, address string) (net.Conn, error) {
			if _, limited := ctx.Deadline(); !limited || network != "tcp" || address != s.Addr() {
				t.Errorf("asked for %s %s, with an end: %v", network, address, limited)
			}
			dialed.Add(1)
			return new(net.Dialer).DialContext(ctx, network, address)
		}),
	)
	if err != nil {
		t.Fatal(err)
	}
	if err := e.Close(); err != nil {
		t.Error(err)
	}
	if n := dialed.Load(); n != 1 {
		t.Errorf("%d connections were opened this way, want 1", n)
	}
	var wrong *zookeeper.OptionError
	if _, err := zookeeper.New(t.Context(), []string{s.Addr()}, zookeeper.WithDialer(nil)); !errors.As(err, &wrong) {
		t.Errorf("no function: %v", err)
	}
}
