package exporter

import (
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// pipeListener is a listener in this process, so that time is virtual.
type pipeListener struct {
	calls  chan net.Conn
	closed chan struct{}
}

func newPipeListener() *pipeListener { return &pipeListener{make(chan net.Conn), make(chan struct{})} }

func (w *pipeListener) Accept() (net.Conn, error) {
	select {
	case c := <-w.calls:
		return c, nil
	case <-w.closed:
		return nil, errors.New("no more calls")
	}
}

func (w *pipeListener) Close() error   { close(w.closed); return nil }
func (w *pipeListener) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 9852} }

func (w *pipeListener) dial() net.Conn {
	here, there := net.Pipe()
	w.calls <- there
	return here
}

// The server does not wait for a client that sends no request or does not read its answer, neither while it runs nor
// when it ends.
func TestClientsThatDoNothing(t *testing.T) {
	withExporter(t, func(t *testing.T, w *exporterTest) {
		w.start()
		on := newPipeListener()
		ctx, end := context.WithCancel(t.Context())
		served := make(chan error, 1)
		go func() { served <- Serve(ctx, on, w.w) }()

		began := time.Now()
		silent := on.dial()
		if _, err := io.ReadAll(silent); err != nil || time.Since(began) > 6*time.Second {
			t.Errorf("a silent client was cut off after %s: %v", time.Since(began), err)
		}
		deaf := on.dial()
		if _, err := io.WriteString(deaf, "GET /metrics HTTP/1.1\r\nHost: h\r\n\r\n"); err != nil {
			t.Fatal(err)
		}
		one := make([]byte, 1)
		if _, err := deaf.Read(one); err != nil { // the answer has begun
			t.Fatal(err)
		}
		began = time.Now()
		end()
		if err := <-served; err != nil || time.Since(began) != shutdownTimeout {
			t.Errorf("the end took %s: %v", time.Since(began), err)
		}
		if rest, _ := io.ReadAll(deaf); strings.Contains(string(rest), "leasehold_waiters") {
			t.Error("the connection outlives the server")
		}
		silent.Close()
		deaf.Close()
		synctest.Wait()
	})
}

func TestAListenerThatBreaks(t *testing.T) {
	withExporter(t, func(t *testing.T, w *exporterTest) {
		on := newPipeListener()
		on.Close()
		if err := Serve(t.Context(), brokenListener{on}, w.w); err == nil ||
			!strings.Contains(err.Error(), "127.0.0.1:9852") {
			t.Errorf("got %v, want an error that says where", err)
		}
	})
}

// brokenListener may be closed more than once.
type brokenListener struct{ *pipeListener }

func (brokenListener) Close() error { return nil }
