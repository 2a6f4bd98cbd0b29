package etcd

import (
	"context"
	"errors"
	"io"
	"net"
	"testing"
)

// Connections that hang are given up when a request has had no answer in its time, and no others are.
func TestConnectionsThatHang(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	var ws wires
	open := func() *wire {
		t.Helper()
		conn, err := ws.dial(t.Context(), listener.Addr().String())
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
				if b[0] == '?' { // all else is not answered
					_, _ = server.Write([]byte("!")) // the other side sees it if this fails
				}
			}
		}()
		return conn.(*wire)
	}
	tell := func(w *wire, what string) {
		t.Helper()
		if _, err := w.Write([]byte(what)); err != nil {
			t.Fatal(err)
		}
	}
	hear := func(w *wire) {
		t.Helper()
		if _, err := io.ReadFull(w, make([]byte, 1)); err != nil {
			t.Fatal(err)
		}
	}
	long := func(w *wire) { // it was long ago
		if w.unheard.Load() != 0 {
			w.unheard.Add(-int64(silent))
		}
	}
	quiet, answered, recent, hanging := open(), open(), open(), open()
	for _, w := range []*wire{answered, hanging} {
		tell(w, "?")
		hear(w)
	}
	tell(recent, ".")
	tell(hanging, ".")
	tell(hanging, ".")
	for _, w := range []*wire{quiet, answered, hanging} {
		long(w)
	}

	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	ws.unanswered(t.Context())
	ws.unanswered(cancelled)
	(*wires)(nil).unanswered(cancelled)
	tell(hanging, ".") // it is still there
	late, cancel := context.WithTimeout(t.Context(), 0)
	defer cancel()
	<-late.Done()
	ws.unanswered(late)
	if _, err := hanging.Write([]byte(".")); !errors.Is(err, net.ErrClosed) {
		t.Errorf("the connection that hangs: %v, want a closed one", err)
	}
	for _, w := range []*wire{quiet, answered, recent} {
		tell(w, "?")
		hear(w)
	}
	if len(ws.all) != 4 {
		t.Errorf("%d connections are known, want 4", len(ws.all))
	}
	for _, w := range []*wire{quiet, answered, recent, hanging} {
		_ = w.Close() // which the client does when it reads
	}
	if len(ws.all) != 0 {
		t.Errorf("%d connections are known after their end", len(ws.all))
	}
}
