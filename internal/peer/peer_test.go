package peer_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/leasehold-go/leasehold/internal/peer"
)

// listen serves connections until the test ends, and counts them.
func listen(t *testing.T, serve func(net.Conn)) (address string, connections *atomic.Int64) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	connections = new(atomic.Int64)
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			connections.Add(1)
			t.Cleanup(func() { conn.Close() })
			go serve(conn)
		}
	}()
	return l.Addr().String(), connections
}

// answering returns a server that sends a text when it has got as much as the beginning of a request in a line.
func answering(request, answer string) func(net.Conn) {
	return func(conn net.Conn) {
		got := make([]byte, len(request))
		if _, err := io.ReadFull(conn, got); err == nil && string(got) == request {
			_, _ = io.WriteString(conn, answer)
		}
	}
}

func silent(net.Conn)       {}
func closing(conn net.Conn) { conn.Close() }
func web(tls bool) (s *httptest.Server) {
	if tls {
		return httptest.NewTLSServer(http.NotFoundHandler())
	}
	return httptest.NewServer(http.NotFoundHandler())
}

func TestIdentify(t *testing.T) {
	t.Parallel()
	plain, secure := web(false), web(true)
	t.Cleanup(plain.Close)
	t.Cleanup(secure.Close)
	at := func(serve func(net.Conn)) string { address, _ := listen(t, serve); return address }
	for name, c := range map[string]struct {
		address string
		want    peer.Kind
	}{
		"HTTP":                  {plain.Listener.Addr().String(), peer.HTTP},
		"TLS":                   {secure.Listener.Addr().String(), peer.TLS},
		"Redis":                 {at(answering("GET / ", "-ERR wrong number of arguments\r\n")), peer.Redis},
		"Redis with a password": {at(answering("GET / ", "-NOAUTH Authentication required.\r\n")), peer.Redis},
		"ZooKeeper":             {at(answering("srvr", "Zookeeper version: 3.8.0\n")), peer.ZooKeeper},
		"TLS, says nginx": {at(answering("GET / ", "HTTP/1.1 400 \r\n\r\n<title>400 The plain HTTP request was "+
			"sent to HTTPS port</title>")), peer.TLS},
		"something else": {at(answering("GET / ", "220 mail\r\n")), peer.Unknown},
		"silent":         {at(silent), peer.Unknown},
		"closing":        {at(closing), peer.Unknown},
		"nothing":        {"127.0.0.1:1", peer.Unknown},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			want := []peer.Kind{c.want}
			if c.want == peer.Unknown {
				want = nil
			}
			if got := peer.Identify(t.Context(), c.address); !slices.Equal(got, want) {
				t.Errorf("it is %d, want %d", got, want)
			}
		})
	}
}

var errWrong = errors.New("it does not fit")

// refusing returns a checker to which all of a kind are wrong.
func refusing(wrong peer.Kind) *peer.Checker {
	return peer.NewChecker(func(k peer.Kind, _ string) error {
		if k == wrong {
			return errWrong
		}
		return nil
	})
}

func dial(t *testing.T, c *peer.Checker, address string) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return c.Check(conn, address)
}

// A server that leaves the first request without an answer is asked what it is, and so is one that closes the
// connection. If it does not fit, reading says so.
func TestAServerThatDoesNotFit(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		serve func(net.Conn)
		wrong peer.Kind
	}{
		"it waits for more": {answering("GET / ", "-NOAUTH Authentication required.\r\n"), peer.Redis},
		"it closes": {func(conn net.Conn) {
			got := make([]byte, 4)
			if _, err := io.ReadFull(conn, got); err == nil && string(got) == "srvr" {
				_, _ = io.WriteString(conn, "Zookeeper version: 3.8.0\n")
			}
			conn.Close()
		}, peer.ZooKeeper},
		"it sends an alert":    {func(conn net.Conn) { _, _ = conn.Write([]byte{0x15, 3, 1, 0, 2}) }, peer.TLS},
		"it answers otherwise": {func(conn net.Conn) { _, _ = io.WriteString(conn, "HTTP/1.0 400 \r\n") }, peer.HTTP},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			address, _ := listen(t, c.serve)
			checker := refusing(c.wrong)
			for range 2 { // the second time it is known
				conn := dial(t, checker, address)
				_, _ = io.WriteString(conn, "hello")
				if n, err := conn.Read(make([]byte, 9)); n != 0 || !errors.Is(err, errWrong) {
					t.Errorf("%d bytes, %v", n, err)
				}
			}
		})
	}
}

// A server that answers is never asked anything, not even when a later connection is silent.
func TestAServerThatFitsIsNotAsked(t *testing.T) {
	t.Parallel()
	address, connections := listen(t, func(conn net.Conn) { _, _ = io.WriteString(conn, "ok") })
	checker := refusing(peer.TLS)
	for range 2 {
		if got, err := io.ReadAll(io.LimitReader(dial(t, checker, address), 2)); string(got) != "ok" || err != nil {
			t.Errorf("%q, %v", got, err)
		}
	}
	if n := connections.Load(); n != 2 {
		t.Errorf("there were %d connections", n)
	}
}

// A server that hangs stays a server that hangs: the deadline of the connection counts.
func TestAServerThatIsNotKnown(t *testing.T) {
	t.Parallel()
	address, _ := listen(t, silent)
	conn := dial(t, refusing(peer.Redis), address)
	if err := conn.SetReadDeadline(time.Now().Add(time.Second)); err != nil {
		t.Fatal(err)
	}
	_, err := conn.Read(make([]byte, 1))
	if failed, is := errors.AsType[net.Error](err); !is || !failed.Timeout() {
		t.Errorf("it ended with %v", err)
	}
}

// A server with TLS and clear text on one port fits either client, even if it is too slow to answer at once.
func TestAServerWithTLSAndClearText(t *testing.T) {
	t.Parallel()
	secure := web(true)
	t.Cleanup(secure.Close)
	address, _ := listen(t, func(conn net.Conn) {
		defer conn.Close() // before it has answered what is no question of ours
		got := make([]byte, 4)
		if _, err := io.ReadFull(conn, got); err != nil {
			return
		}
		switch {
		case string(got) == "srvr":
			_, _ = io.WriteString(conn, "Zookeeper version: 3.9.5\n")
		case got[0] == 0x16:
			_ = tls.Server(readFirst{io.MultiReader(bytes.NewReader(got), conn), conn}, secure.TLS).Handshake()
		}
	})
	for _, wrong := range []peer.Kind{peer.TLS, peer.ZooKeeper} {
		conn := dial(t, refusing(wrong), address)
		_, _ = io.WriteString(conn, "hello")
		if _, err := conn.Read(make([]byte, 1)); err == nil || errors.Is(err, errWrong) {
			t.Errorf("with a kind of %d that is wrong: %v", wrong, err)
		}
	}
}

// readFirst is a connection of which some bytes have been read.
type readFirst struct {
	io.Reader
	net.Conn
}

// Read reads them again, and then the others.
func (c readFirst) Read(b []byte) (int, error) { return c.Reader.Read(b) }

func TestHandshake(t *testing.T) {
	t.Parallel()
	secure := web(true)
	t.Cleanup(secure.Close)
	address := secure.Listener.Addr().String()
	trust := secure.Client().Transport.(*http.Transport).TLSClientConfig
	conn, err := peer.Handshake(t.Context(), dial(t, refusing(peer.Redis), address), address, trust)
	if err != nil {
		t.Fatal(err)
	}
	conn.Close()
	_, err = peer.Handshake(t.Context(), dial(t, refusing(peer.Redis), address), address, &tls.Config{})
	if err == nil || !strings.HasPrefix(err.Error(), "TLS with "+address+": ") {
		t.Errorf("a server that is not trusted: %v", err)
	}
	plain, _ := listen(t, answering("GET / ", "-ERR wrong number of arguments\r\n"))
	_, err = peer.Handshake(context.Background(), dial(t, refusing(peer.Redis), plain), plain, &tls.Config{})
	if !errors.Is(err, errWrong) || strings.Contains(err.Error(), "TLS with") {
		t.Errorf("a server without TLS: %v", err)
	}
}
