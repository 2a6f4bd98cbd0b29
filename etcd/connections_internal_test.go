package etcd

import (
	"context"
	"errors"
	"io"
	"net"
	"testing"
)

// When a request was not answered in time, connections that hang are closed, and no others.
func TestSilentConnectionsAreClosed(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	var cs connections
	open := func() *connection {
		t.Helper()
		conn, err := cs.dial(t.Context(), listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = conn.Close() }) // some are closed already
		server, err := listener.Accept()
		if err != nil {
			t.Fatal(err)
		}
		go func() {
			defer server.Close()
			for b := make([]byte, 1); ; {
				if _, err := server.Read(b); err != nil {
					return
				}
				if b[0] == '?' { // nothing else is answered
					_, _ = server.Write([]byte("!")) // the client notices if this fails
				}
			}
		}()
		return conn.(*connection)
	}
	send := func(c *connection, what string) {
		t.Helper()
		if _, err := c.Write([]byte(what)); err != nil {
			t.Fatal(err)
		}
	}
	receive := func(c *connection) {
		t.Helper()
		if _, err := io.ReadFull(c, make([]byte, 1)); err != nil {
			t.Fatal(err)
		}
	}
	pretendLongAgo := func(c *connection) { // pretend that it was long ago
		if c.unansweredSince.Load() != 0 {
			c.unansweredSince.Add(-int64(maxSilence))
		}
	}
	quiet, answered, recent, hanging := open(), open(), open(), open()
	for _, c := range []*connection{answered, hanging} {
		send(c, "?")
		receive(c)
	}
	send(recent, ".")
	send(hanging, ".")
	send(hanging, ".")
	for _, c := range []*connection{quiet, answered, hanging} {
		pretendLongAgo(c)
	}

	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	cs.noteRequestEnd(t.Context())
	cs.noteRequestEnd(cancelled)
	(*connections)(nil).noteRequestEnd(cancelled)
	send(hanging, ".") // still open
	late, cancel := context.WithTimeout(t.Context(), 0)
	defer cancel()
	<-late.Done()
	cs.noteRequestEnd(late)
	if _, err := hanging.Write([]byte(".")); !errors.Is(err, net.ErrClosed) {
		t.Errorf("the connection that hangs: %v, want a closed one", err)
	}
	for _, c := range []*connection{quiet, answered, recent} {
		send(c, "?")
		receive(c)
	}
	if len(cs.all) != 4 {
		t.Errorf("%d connections are known, want 4", len(cs.all))
	}
	for _, c := range []*connection{quiet, answered, recent, hanging} {
		_ = c.Close() // the gRPC client does that when it reads
	}
	if len(cs.all) != 0 {
		t.Errorf("%d connections are known after their end", len(cs.all))
	}
}
