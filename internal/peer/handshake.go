package peer

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
)

// Handshake makes a TLS connection over a new one to an address, which it closes if that fails. If the configuration
// has no name that the certificate must have, it is the host of the address.
func Handshake(ctx context.Context, conn net.Conn, address string, config *tls.Config) (*tls.Conn, error) {
	config = config.Clone()
	if config.ServerName == "" {
		config.ServerName, _, _ = net.SplitHostPort(address)
	}
	secure := tls.Client(conn, config)
	if err := secure.HandshakeContext(ctx); err != nil {
		_ = conn.Close()
		if w, is := conn.(interface{ Mismatch() error }); is && w.Mismatch() != nil {
			return nil, w.Mismatch() // whatever it has broken
		}
		return nil, fmt.Errorf("TLS with %s: %w", address, err)
	}
	return secure, nil
}
