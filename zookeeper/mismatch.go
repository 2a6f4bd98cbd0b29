package zookeeper

import (
	"context"
	"crypto/tls"
	"net"

	"github.com/leasehold-go/leasehold/internal/peer"
)

// mismatchError says that a server is not what the URL says.
type mismatchError string

// Error implements error.
func (e mismatchError) Error() string { return string(e) }

// checkedDialer returns a dialer, with TLS unless config is nil, whose connections fail with a mismatchError if the
// server has TLS although the URL says otherwise, or the reverse, or if it is another server.
func checkedDialer(config *tls.Config) func(ctx context.Context, network, address string) (net.Conn, error) {
	checker := peer.NewChecker(func(k peer.Kind, address string) error {
		switch {
		case k == peer.ZooKeeper && config != nil:
			return mismatchError("this server does not speak TLS: use zookeeper://" + address)
		case k == peer.TLS && config == nil:
			return mismatchError("this server speaks TLS: use zookeepers://" + address)
		case k == peer.Redis, k == peer.HTTP:
			return mismatchError(address + " is no ZooKeeper server: fix the host or the port")
		}
		return nil
	})
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := new(net.Dialer).DialContext(ctx, network, address)
		if err != nil {
			return nil, err
		}
		conn = checker.Check(conn, address)
		if config == nil {
			return conn, nil
		}
		return peer.Handshake(ctx, conn, address, config)
	}
}
