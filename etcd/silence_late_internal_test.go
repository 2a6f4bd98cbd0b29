package etcd

import (
	"context"
	"errors"
	"io"
	"net"
	"testing"
)

// What a member that hangs has not taken when its connection ends, it never gets: the system does not go on sending it. Others are told of the end in
// the usual way.
func TestNothingIsSentAfterTheEnd(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	late, cancel := context.WithTimeout(t.Context(), 0)
	defer cancel()
	for name, test := range map[string]struct {
		end   func(*wires, *wire)
		reset bool
	}{
		"given up": {func(ws *wires, w *wire) {
			w.unheard.Store(1 - int64(silent))
			ws.unanswered(late)
		}, true},
		"closed when it hangs": {func(_ *wires, w *wire) {
			w.unheard.Store(1 - int64(silent))
			_ = w.Close()
		}, true},
		"closed": {func(_ *wires, w *wire) { _ = w.Close() }, false},
	} {
		var ws wires
		conn, err := ws.dial(t.Context(), listener.Addr().String())
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
		test.end(&ws, conn.(*wire))
		if _, err := server.Read(make([]byte, 1)); err == nil || errors.Is(err, io.EOF) == test.reset {
			t.Errorf("%s: the member is told %v, want a reset: %v", name, err, test.reset)
		}
	}
}
