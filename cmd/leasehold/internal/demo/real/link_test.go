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

// through returns both ends of a connection through a link.
func through(t *testing.T, g *link) (near *conn, far net.Conn) {
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

// What arrives while a client is stopped is not read before it goes on, even if it was reading already.
func TestNothingIsReadThroughABlockedLink(t *testing.T) {
	t.Parallel()
	for what, shut := range map[string]func(g *link, yes bool){
		"stopped": func(g *link, yes bool) { g.stopped = yes },
		"cut":     func(g *link, yes bool) { g.cut = yes },
	} {
		for _, reading := range []bool{false, true} {
			synctest.Test(t, func(t *testing.T) {
				g := newLink(t.Context())
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
				g.set(func(g *link) { shut(g, true) })
				if !reading {
					go read()
				}
				go send(t, far, "hello")
				time.Sleep(time.Hour)
				synctest.Wait()
				if got != nil {
					t.Errorf("%s, reading before: %v: it has read %q", what, reading, got)
				}
				g.set(func(g *link) { shut(g, false) })
				synctest.Wait()
				if string(got) != "hello" {
					t.Errorf("%s, reading before: %v: afterwards it has read %q", what, reading, got)
				}
			})
		}
	}
}

func TestABlockedLinkHeedsDeadlines(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := newLink(t.Context())
		near, _ := through(t, g)
		g.set(func(g *link) { g.stopped = true })
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

// Aborting a run ends all waits.
func TestABlockedLinkEndsWithTheRun(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		run, end := context.WithCancel(t.Context())
		g := newLink(run)
		near, _ := through(t, g)
		g.set(func(g *link) { g.cut = true })
		time.AfterFunc(time.Second, end)
		if _, err := near.Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("reading ends with %v", err)
		}
		g.set(func(g *link) { g.cut = false })
		if err := g.passWhenOpen(t.Context()); err != nil {
			t.Errorf("a link that is open again: %v", err)
		}
	})
}

// A link reports the awaited request once.
func TestALinkReportsARequest(t *testing.T) {
	t.Parallel()
	g := newLink(t.Context())
	near, far := through(t, g)
	go io.Copy(io.Discard, far)
	reports := 0
	g.set(func(g *link) {
		g.pattern = []byte("name")
		g.onRequest = func() { reports++ }
	})
	for _, c := range []struct {
		text    string
		reports int
	}{{"other", 0}, {"a name", 1}, {"name again", 1}} {
		if send(t, near, c.text); reports != c.reports {
			t.Errorf("after %q it has reported %d times, want %d", c.text, reports, c.reports)
		}
	}
}
