package redisserver

import (
	"bufio"
	"errors"
	"io"
	"net"
	"strings"
	"syscall"
	"testing"
	"time"
)

// client is a connection that stays open.
type client struct {
	t *testing.T
	net.Conn
	replies *bufio.Reader
}

func connect(t *testing.T, addr string) *client {
	t.Helper()
	conn, err := net.Dial("tcp", addr)
	noErr(t, err)
	return newClient(t, conn)
}

func newClient(t *testing.T, conn net.Conn) *client {
	t.Helper()
	t.Cleanup(func() { conn.Close() })
	noErr(t, conn.SetDeadline(time.Now().Add(Patience)))
	return &client{t, conn, bufio.NewReader(conn)}
}

func (c *client) send(args ...string) {
	c.t.Helper()
	_, err := c.Write(request(args))
	noErr(c.t, err)
}

func (c *client) expect(want any) {
	c.t.Helper()
	got, err := readReply(c.replies)
	if err != nil || got != want {
		c.t.Fatalf("the reply is %v, %v, want %v", got, err, want)
	}
}

func (c *client) expectEnd() {
	c.t.Helper()
	got, err := readReply(c.replies)
	if err == nil || isTimeout(err) {
		c.t.Fatalf("the connection goes on: %v, %v", got, err)
	}
}

// readToEnd returns what the client sees before the end of its connection. The end may be a reset: the kernel resets
// a connection that is closed while requests on it are still unread.
func (c *client) readToEnd() ([]byte, error) {
	all, err := io.ReadAll(c.replies)
	if errors.Is(err, syscall.ECONNRESET) {
		err = nil
	}
	return all, err
}

// expectSilence gives a wrong reply a moment to arrive.
func (c *client) expectSilence() {
	c.t.Helper()
	noErr(c.t, c.SetReadDeadline(time.Now().Add(30*time.Millisecond)))
	if got, err := c.replies.ReadByte(); !isTimeout(err) {
		c.t.Fatalf("the client hears %v, %v", got, err)
	}
	noErr(c.t, c.SetReadDeadline(time.Now().Add(Patience)))
}

func isTimeout(err error) bool {
	e, ok := errors.AsType[net.Error](err)
	return ok && e.Timeout()
}

// proxied starts a server with a proxy in front of it.
func proxied(t *testing.T) (*Server, *Proxy) {
	t.Helper()
	s := ForTest(t, Config{})
	return s, ProxyForTest(t, s.Addr())
}

// awaitValue waits until a key of the server has a value.
func awaitValue(t *testing.T, s *Server, key string, want any) {
	t.Helper()
	noErr(t, await(key+" has its value", func() error {
		got, err := s.Command("GET", key)
		if err == nil && got != want {
			err = errors.New("it has another")
		}
		return err
	}))
}

// on makes a hook that applies an action to one command, and sends on the channel when it comes.
func on(command string, what Action) (func([]byte) Action, <-chan bool) {
	seen := make(chan bool, 100)
	return func(request []byte) Action {
		if words := Words(request); len(words) > 0 && words[0] == command {
			seen <- true
			return what
		}
		return Pass
	}, seen
}

func TestProxyPasses(t *testing.T) {
	t.Parallel()
	_, p := proxied(t)
	c := connect(t, p.Addr())
	big := string(make([]byte, 300_000))
	c.send("SET", "a", big)
	c.send("GET", "a")
	c.expect("OK")
	c.expect(big)
	_, err := io.WriteString(c, "PING\r\n") // allowed, although clients send it differently
	noErr(t, err)
	c.expect("PONG")
	c.send("QUIT")
	c.expect("OK")
	c.expectEnd()
}

func TestProxyPassesTheEndOfTheServer(t *testing.T) {
	t.Parallel()
	s, p := proxied(t)
	c := connect(t, p.Addr())
	c.send("PING")
	c.expect("PONG")
	s.Kill()
	c.expectEnd()
	connect(t, p.Addr()).expectEnd()
	noErr(t, s.Restart())
	c = connect(t, p.Addr())
	c.send("PING")
	c.expect("PONG")
}

func TestFreezeAndThaw(t *testing.T) {
	t.Parallel()
	s, p := proxied(t)
	c := connect(t, p.Addr())
	c.send("PING")
	c.expect("PONG")
	p.Freeze()
	p.Freeze() // freezing again does nothing
	c.send("INCR", "a")
	late := connect(t, p.Addr())
	late.send("INCR", "a")
	gone := connect(t, p.Addr())
	gone.send("SET", "late", "yes")
	gone.Close()
	c.expectSilence()
	late.expectSilence()
	expect(t, s, nil, "GET", "a")
	p.Thaw()
	p.Thaw()
	if one, two := read(t, c), read(t, late); one+two != 3 {
		t.Errorf("INCR replied %d and %d", one, two)
	}
	awaitValue(t, s, "late", "yes")
}

// read reads a number.
func read(t *testing.T, c *client) int64 {
	t.Helper()
	reply, err := readReply(c.replies)
	noErr(t, err)
	n, ok := reply.(int64)
	if !ok {
		t.Fatalf("the reply is %v", reply)
	}
	return n
}

// Connections do not begin or end through a frozen proxy.
func TestFrozenConnections(t *testing.T) {
	t.Parallel()
	l, p := listener(t)
	old := connect(t, p.Addr())
	server := accept(t, l)
	p.Freeze()
	noErr(t, old.Close())
	connect(t, p.Addr())
	server.expectSilence()
	noErr(t, l.SetDeadline(time.Now().Add(30*time.Millisecond)))
	if _, err := l.Accept(); !isTimeout(err) {
		t.Fatalf("a connection begins: %v", err)
	}
	p.Thaw()
	server.expectEnd()
	noErr(t, l.SetDeadline(time.Now().Add(Patience)))
	accept(t, l)
}

// listener replaces a server, with a proxy in front of it.
func listener(t *testing.T) (*net.TCPListener, *Proxy) {
	t.Helper()
	l, err := net.ListenTCP("tcp", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)})
	noErr(t, err)
	t.Cleanup(func() { l.Close() })
	return l, ProxyForTest(t, l.Addr().String())
}

func accept(t *testing.T, l net.Listener) *client {
	t.Helper()
	conn, err := l.Accept()
	noErr(t, err)
	return newClient(t, conn)
}

// A frozen proxy does not pass on the end of a connection by the server.
func TestFrozenEnd(t *testing.T) {
	t.Parallel()
	s, p := proxied(t)
	c := connect(t, p.Addr())
	c.send("PING")
	c.expect("PONG")
	p.Freeze()
	s.Kill()
	c.expectSilence()
	p.Thaw()
	c.expectEnd()
}

func TestCut(t *testing.T) {
	t.Parallel()
	s, p := proxied(t)
	c, frozen := connect(t, p.Addr()), connect(t, p.Addr())
	c.send("PING")
	c.expect("PONG")
	frozen.send("PING")
	frozen.expect("PONG")
	p.Freeze()
	frozen.send("SET", "a", "b")
	p.Cut()
	p.Thaw()
	c.expectEnd()
	frozen.expectEnd()
	expect(t, s, nil, "GET", "a")
	c = connect(t, p.Addr())
	c.send("PING")
	c.expect("PONG")
}

func TestRefuse(t *testing.T) {
	t.Parallel()
	_, p := proxied(t)
	c := connect(t, p.Addr())
	c.send("PING")
	c.expect("PONG")
	p.Refuse()
	p.Refuse()
	if _, err := net.Dial("tcp", p.Addr()); err == nil {
		t.Fatal("the connection is accepted")
	}
	c.send("PING")
	c.expect("PONG")
	noErr(t, p.Allow())
	noErr(t, p.Allow())
	c = connect(t, p.Addr())
	c.send("PING")
	c.expect("PONG")
}

func TestSwallowedReplies(t *testing.T) {
	t.Parallel()
	s, p := proxied(t)
	lost, idle := connect(t, p.Addr()), connect(t, p.Addr())
	idle.send("PING")
	idle.expect("PONG")
	p.SwallowReplies()
	lost.send("SET", "a", "b")
	awaitValue(t, s, "a", "b")
	lost.expectSilence()
	p.PassReplies()
	lost.expectEnd()
	idle.send("PING")
	idle.expect("PONG")
}

func TestSwallowedEnd(t *testing.T) {
	t.Parallel()
	s, p := proxied(t)
	c := connect(t, p.Addr())
	c.send("PING")
	c.expect("PONG")
	p.SwallowReplies()
	s.Kill()
	c.expectSilence()
	p.PassReplies()
	c.expectEnd()
}

func TestCutBefore(t *testing.T) {
	t.Parallel()
	s, p := proxied(t)
	hook, _ := on("SET", CutBefore)
	p.Intercept(hook)
	c := connect(t, p.Addr())
	c.send("PING")
	c.expect("PONG")
	c.send("INCR", "n") // earlier requests have been done
	c.send("SET", "a", "b")
	c.expectEndAfter(int64(1))
	expect(t, s, nil, "GET", "a")
	awaitValue(t, s, "n", "1")
	p.Intercept(nil)
	c = connect(t, p.Addr())
	c.send("SET", "a", "b")
	c.expect("OK")
}

// expectEndAfter accepts a reply that may be lost, and then expects the end.
func (c *client) expectEndAfter(reply any) {
	c.t.Helper()
	got, err := readReply(c.replies)
	if err == nil && got == reply {
		c.expectEnd()
	} else if err == nil || isTimeout(err) {
		c.t.Fatalf("the reply is %v, %v, want %v or the end", got, err, reply)
	}
}

// The reply to the given request is lost, whatever else is in flight.
func TestCutAfter(t *testing.T) {
	t.Parallel()
	s, p := proxied(t)
	hook, seen := on("SET", CutAfter)
	p.Intercept(hook)
	c := connect(t, p.Addr())
	c.send("HELLO", "3")
	c.send("SUBSCRIBE", "news")
	noErr(t, s.AwaitInfo("pubsub_channels", "1"))
	noErr(t, s.Pause())
	c.send("GET", "a")
	c.send("SET", "a", "b")
	c.send("INCR", "n")
	<-seen
	noErr(t, s.Resume())
	all, err := c.readToEnd()
	noErr(t, err)
	if values := split(string(all), len(all)); len(values) != 3 || values[2] != "_\r\n" {
		t.Errorf("the client saw %q, want the replies to HELLO, SUBSCRIBE and GET", values)
	}
	expect(t, s, "b", "GET", "a")
}

// The proxy waits for the reply, however long it takes. Pushed messages are not replies.
func TestCutAfterAwaitsTheReply(t *testing.T) {
	t.Parallel()
	s, p := proxied(t)
	hook, seen := on("BLPOP", CutAfter)
	p.Intercept(hook)
	c := connect(t, p.Addr())
	c.send("HELLO", "3")
	c.send("SUBSCRIBE", "news")
	c.send("BLPOP", "list", "0")
	<-seen
	noErr(t, s.AwaitInfo("blocked_clients", "1"))
	expect(t, s, int64(1), "PUBLISH", "news", "hello")
	expect(t, s, int64(1), "RPUSH", "list", "x")
	all, err := c.readToEnd()
	noErr(t, err)
	values := split(string(all), len(all))
	if len(values) != 3 || !strings.Contains(values[2], "hello") {
		t.Errorf("the client saw %q, want the replies to HELLO and SUBSCRIBE, and a message", values)
	}
	expect(t, s, int64(0), "LLEN", "list")
}

// A command that subscribes gets a message, and no other reply.
func TestCutAfterSubscribe(t *testing.T) {
	t.Parallel()
	_, p := proxied(t)
	hook, _ := on("SUBSCRIBE", CutAfter)
	p.Intercept(hook)
	c := connect(t, p.Addr())
	c.send("SUBSCRIBE", "news")
	c.expectEnd()
}

// The proxy waits for the whole reply.
func TestCutAfterALongReply(t *testing.T) {
	t.Parallel()
	l, p := listener(t)
	p.Intercept(func([]byte) Action { return CutAfter })
	c := connect(t, p.Addr())
	c.send("GET", "a")
	server := accept(t, l)
	_, err := io.ReadFull(server, request([]string{"GET", "a"}))
	noErr(t, err)
	_, err = io.WriteString(server, "$5\r\nhe")
	noErr(t, err)
	c.expectSilence()
	_, err = io.WriteString(server, "llo\r\n")
	noErr(t, err)
	c.expectEnd()
}

func TestHold(t *testing.T) {
	t.Parallel()
	s, p := proxied(t)
	hook, seen := on("SET", Hold)
	p.Intercept(hook)
	c, gone, free := connect(t, p.Addr()), connect(t, p.Addr()), connect(t, p.Addr())
	c.send("SET", "a", "b")
	c.send("GET", "a") // waits for the reply before it
	gone.send("SET", "late", "yes")
	<-seen
	<-seen
	noErr(t, gone.Close())
	c.expectSilence()
	free.send("GET", "a")
	free.expect(nil)
	p.Release()
	c.expect("OK")
	c.expect("b")
	awaitValue(t, s, "late", "yes")
}

func TestCutWhileOnHold(t *testing.T) {
	t.Parallel()
	s, p := proxied(t)
	hook, seen := on("SET", Hold)
	p.Intercept(hook)
	c := connect(t, p.Addr())
	c.send("SET", "a", "b")
	<-seen
	p.Cut()
	c.expectEnd()
	noErr(t, p.Close()) // does not wait for requests on hold
	expect(t, s, nil, "GET", "a")
}

func TestProxyCloses(t *testing.T) {
	t.Parallel()
	_, p := proxied(t)
	c := connect(t, p.Addr())
	c.send("PING")
	c.expect("PONG")
	p.Freeze()
	noErr(t, p.Close())
	noErr(t, p.Close())
	c.expectEnd()
	if _, err := net.Dial("tcp", p.Addr()); err == nil {
		t.Error("the connection is accepted")
	}
	if p.Allow() == nil {
		t.Error("a closed proxy listens again")
	}
}
