package real

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"testing"
	"testing/synctest"
	"time"
)

// through returns both ends of a connection through a gate.
func through(t *testing.T, g *gate) (near *conn, far net.Conn) {
	a, b := net.Pipe()
	near = newConn(a, g)
	t.Cleanup(func() { near.Close(); b.Close() })
	return near, b
}

func send(t *testing.T, c net.Conn, text string) {
	t.Helper()
	if _, err := io.WriteString(c, text); err != nil {
		t.Error(err)
	}
}

// What arrives while a client stands still is not read before it goes on, also if it was reading already.
func TestNothingIsReadThroughAShutGate(t *testing.T) {
	t.Parallel()
	for what, shut := range map[string]func(g *gate, yes bool){
		"stopped": func(g *gate, yes bool) { g.stopped = yes },
		"cut":     func(g *gate, yes bool) { g.cut = yes },
	} {
		for _, reading := range []bool{false, true} {
			synctest.Test(t, func(t *testing.T) {
				g := newGate(t.Context())
				near, far := through(t, g)
				var got []byte
				read := func() {
					b := make([]byte, 10)
					n, err := near.Read(b)
					if err != nil {
						t.Error(err)
					}
					got = b[:n]
				}
				if reading {
					go read()
					synctest.Wait()
				}
				g.set(func(g *gate) { shut(g, true) })
				if !reading {
					go read()
				}
				go send(t, far, "hello")
				time.Sleep(time.Hour)
				synctest.Wait()
				if got != nil {
					t.Errorf("%s, reading before: %v: it has read %q", what, reading, got)
				}
				g.set(func(g *gate) { shut(g, false) })
				synctest.Wait()
				if string(got) != "hello" {
					t.Errorf("%s, reading before: %v: afterwards it has read %q", what, reading, got)
				}
			})
		}
	}
}

func TestShutGateHeedsDeadlines(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := newGate(t.Context())
		near, _ := through(t, g)
		g.set(func(g *gate) { g.stopped = true })
		for _, f := range []func() error{
			func() error {
				near.SetReadDeadline(time.Now().Add(time.Second))
				_, err := near.Read(make([]byte, 1))
				return err
			},
			func() error {
				near.SetWriteDeadline(time.Now().Add(time.Second))
				_, err := near.Write(make([]byte, 1))
				return err
			},
			func() error {
				near.SetDeadline(time.Now().Add(time.Second))
				_, err := near.Write(make([]byte, 1))
				return err
			},
		} {
			began := time.Now()
			if err := f(); !errors.Is(err, os.ErrDeadlineExceeded) || time.Since(began) != time.Second {
				t.Errorf("after %v: %v", time.Since(began), err)
			}
		}
		go func() { time.Sleep(time.Second); near.Close() }()
		near.SetDeadline(time.Time{})
		if _, err := near.Read(make([]byte, 1)); err == nil {
			t.Error("a closed connection has something to read")
		}
	})
}

// A play that is over leaves nobody waiting.
func TestShutGateEndsWithThePlay(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		play, end := context.WithCancel(t.Context())
		g := newGate(play)
		near, _ := through(t, g)
		g.set(func(g *gate) { g.cut = true })
		time.AfterFunc(time.Second, end)
		if _, err := near.Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("reading ends with %v", err)
		}
		g.set(func(g *gate) { g.cut = false })
		if err := g.pass(t.Context()); err != nil {
			t.Errorf("a gate that is open again: %v", err)
		}
	})
}

// The gate tells once that a request has been sent.
func TestGateTellsOfARequest(t *testing.T) {
	t.Parallel()
	g := newGate(t.Context())
	near, far := through(t, g)
	go io.Copy(io.Discard, far)
	told := 0
	g.set(func(g *gate) {
		g.awaited = []byte("name")
		g.happened = func() { told++ }
	})
	for _, c := range []struct {
		text string
		told int
	}{{"other", 0}, {"a name", 1}, {"name again", 1}} {
		if send(t, near, c.text); told != c.told {
			t.Errorf("after %q it has told %d times, want %d", c.text, told, c.told)
		}
	}
}
