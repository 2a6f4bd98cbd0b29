package redisurl

import (
	"context"
	"io"
	"net"
	"testing"
)

// A client behind Sentinels knows its server by the address to which it has connected, not by that of a Sentinel.
func TestServerBehindSentinelsIsCalledByItsAddress(t *testing.T) {
	t.Parallel()
	c := &Client{target: &Target{shape: behindSentinels, addresses: []string{"10.0.0.1:26379"}}}
	if got := c.LastAddress(); got != "" {
		t.Errorf("before it has connected, the server's address is %q", got)
	}
	fails := false
	dial := c.recordAddress(func(context.Context, string, string) (net.Conn, error) {
		if fails {
			return nil, io.EOF
		}
		return nil, nil
	})
	for _, address := range []string{"10.0.0.1:26379", "10.0.0.2:6379", "10.0.0.1:26379", "10.0.0.3:6379"} {
		fails = address == "10.0.0.3:6379"
		_, _ = dial(t.Context(), "tcp", address)
	}
	if got := c.LastAddress(); got != "10.0.0.2:6379" {
		t.Errorf("the server's address is %q", got)
	}
}
