package cable

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"testing"
	"time"
)

// echo is a server that sends back what it receives.
func echo(t *testing.T) (addr string) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	noErr(t, err)
	t.Cleanup(func() { noErr(t, listener.Close()) })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				_, _ = io.Copy(conn, conn) // until either side ends
				_ = conn.Close()
			}()
		}
	}()
	return listener.Addr().String()
}

func noErr(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// caller is a client.
type caller struct {
	t    *testing.T
	conn net.Conn
	said *bufio.Reader
}

func call(t *testing.T, addr string) *caller {
	t.Helper()
	conn, err := net.Dial("tcp", addr)
	noErr(t, err)
	t.Cleanup(func() { _ = conn.Close() }) // the cable may have closed it
	return &caller{t, conn, bufio.NewReader(conn)}
}

func (c *caller) tell(word string) {
	c.t.Helper()
	_, err := fmt.Fprintln(c.conn, word)
	noErr(c.t, err)
}

// receive returns what arrives within a time.
func (c *caller) receive(within time.Duration) (string, error) {
	c.t.Helper()
	noErr(c.t, c.conn.SetReadDeadline(time.Now().Add(within)))
	return c.said.ReadString('\n')
}

// mustEcho sends a word and receives it again.
func (c *caller) mustEcho(word string) {
	c.t.Helper()
	c.tell(word)
	if said, err := c.receive(patience); said != word+"\n" {
		c.t.Fatalf("%q, %v; want %s", said, err, word)
	}
}

const patience = time.Minute

func TestBytesAreRelayed(t *testing.T) {
	t.Parallel()
	call(t, ForTest(t, echo(t)).Addr()).mustEcho("hello")
}

// While the cable is frozen nothing arrives; when it thaws, everything does, on new connections,
// too.
func TestFreeze(t *testing.T) {
	t.Parallel()
	cable := ForTest(t, echo(t))
	old := call(t, cable.Addr())
	old.mustEcho("first")
	cable.Freeze()
	both := []*caller{old, call(t, cable.Addr())}
	for _, c := range both {
		c.tell("hello")
		if said, err := c.receive(50 * time.Millisecond); !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("%q, %v; want nothing", said, err)
		}
	}
	cable.Thaw()
	for _, c := range both {
		if said, err := c.receive(patience); said != "hello\n" {
			t.Errorf("%q, %v", said, err)
		}
	}
}

// awaitEnd waits until the other side has closed a connection.
func (c *caller) awaitEnd() {
	c.t.Helper()
	if said, err := c.receive(patience); err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
		c.t.Errorf("%q, %v; want an end", said, err)
	}
}

func TestCut(t *testing.T) {
	t.Parallel()
	cable := ForTest(t, echo(t))
	c := call(t, cable.Addr())
	c.mustEcho("hello")
	cable.Freeze() // a frozen cable can still be cut
	cable.Cut()
	c.awaitEnd()
	cable.Thaw()
	call(t, cable.Addr()).mustEcho("again")
}

func TestRefuse(t *testing.T) {
	t.Parallel()
	cable := ForTest(t, echo(t))
	c := call(t, cable.Addr())
	c.mustEcho("hello")
	cable.Refuse()
	if conn, err := net.Dial("tcp", cable.Addr()); err == nil {
		_ = conn.Close()
		t.Error("it lets somebody connect")
	}
	c.mustEcho("still here")
	noErr(t, cable.Allow())
	noErr(t, cable.Allow()) // does nothing
	call(t, cable.Addr()).mustEcho("again")
}

// When a server ends, its connections end.
func TestServerThatIsGone(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	noErr(t, err)
	noErr(t, listener.Close())
	call(t, ForTest(t, listener.Addr().String()).Addr()).awaitEnd()
}

func TestClose(t *testing.T) {
	t.Parallel()
	cable := ForTest(t, echo(t))
	c := call(t, cable.Addr())
	cable.Freeze()
	cable.Close()
	cable.Close()
	c.awaitEnd()
	if err := cable.Allow(); err == nil {
		t.Error("it lets somebody connect after Close")
	}
}
