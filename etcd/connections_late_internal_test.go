package etcd

import (
	"context"
	"errors"
	"io"
	"net"
	"testing"
)

// What a member that hangs has not received when its connection is closed, it never receives: the system does not go on
// sending it. Other connections are closed in the usual way.
func TestNothingIsSentAfterClose(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	late, cancel := context.WithTimeout(t.Context(), 0)
	defer cancel()
	for name, test := range map[string]struct {
		end   func(*connections, *connection)
		reset bool
	}{
		"given up": {func(cs *connections, c *connection) {
			c.unansweredSince.Store(1 - int64(maxSilence))
			cs.noteRequestEnd(late)
		}, true},
		"closed when it hangs": {func(_ *connections, c *connection) {
			c.unansweredSince.Store(1 - int64(maxSilence))
			_ = c.Close()
		}, true},
		"closed": {func(_ *connections, c *connection) { _ = c.Close() }, false},
	} {
		var pool connections
		conn, err := pool.dial(t.Context(), listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		server, err := listener.Accept()
		if err != nil {
			t.Fatal(err)
		}
		defer server.Close()
		if _, err := conn.Write([]byte(".")); err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadFull(server, make([]byte, 1)); err != nil {
			t.Fatal(err)
		}
		test.end(&pool, conn.(*connection))
		if _, err := server.Read(make([]byte, 1)); err == nil || errors.Is(err, io.EOF) == test.reset {
			t.Errorf("%s: the member sees %v, want a reset: %v", name, err, test.reset)
		}
	}
}
