package redisurl

import (
	"bytes"
	"fmt"
	"net"
	"syscall"

	"github.com/leasehold-go/leasehold/internal/peer"
)

// MismatchError says that the scheme of a URL does not fit the server: that it has TLS or not, or that it is a Sentinel
// or not.
type MismatchError struct {
	What    string // what is wrong, as in "this server does not speak TLS"
	Scheme  string // of the engine, as in "redis"
	TLS     bool   // the right URL asks for TLS
	Variant string // what follows the engine in the scheme of the right URL, as in "+sentinel"
	Rest    string // of the right URL: the address, and the name of the master
}

// Error implements error. It says what URL fits, without user and password.
func (e *MismatchError) Error() string {
	if e.Rest == "" {
		return e.What
	}
	secure := ""
	if e.TLS {
		secure = "s"
	}
	return fmt.Sprintf("%s: use %s%s%s://%s", e.What, e.Scheme, secure, e.Variant, e.Rest)
}

// mismatch returns the error for a server at an address, with the right URL.
func (t *Target) mismatch(what, address string, tls bool, s shape) error {
	e := &MismatchError{What: what, Scheme: t.scheme, TLS: tls, Rest: address}
	switch s {
	case behindSentinels:
		e.Variant, e.Rest = "+sentinel", address+"/MASTER"
		if t.master != "" {
			e.Rest = address + "/" + t.master
		}
	case clustered:
		e.Variant = "+cluster"
	}
	return &dialError{e}
}

// newChecker returns a checker that finds out whether servers have TLS.
func (t *Target) newChecker() *peer.Checker {
	return peer.NewChecker(func(k peer.Kind, address string) error {
		switch {
		case k == peer.Redis && t.tls.On:
			return t.mismatch("this server does not speak TLS", address, false, t.shape)
		case k == peer.TLS && !t.tls.On:
			return t.mismatch("this server speaks TLS", address, true, t.shape)
		case k == peer.HTTP, k == peer.ZooKeeper:
			return &dialError{&MismatchError{What: address + " is no Redis server: fix the host or the port"}}
		}
		return nil
	})
}

// roleConn looks at the first replies on a connection, which tell whether the server is a Sentinel.
type roleConn struct {
	net.Conn
	target     *Target
	address    string
	isSentinel bool // it should be one
	first      []byte
	why        error
}

// maxFirst is how much of the first replies is looked at: that to HELLO and to one more command.
const maxFirst = 1 << 10

// checkRole returns a connection that fails if the server has another role than the URL says.
func (t *Target) checkRole(conn net.Conn, address string, isSentinel bool) net.Conn {
	c := &roleConn{Conn: conn, target: t, address: address, isSentinel: isSentinel}
	if raw, is := conn.(syscall.Conn); is {
		return &rawRoleConn{c, raw}
	}
	return c
}

// Read implements net.Conn.
func (c *roleConn) Read(b []byte) (int, error) {
	if c.why != nil {
		return 0, c.why
	}
	n, err := c.Conn.Read(b)
	if len(c.first) < maxFirst && n > 0 {
		c.first = append(c.first, b[:min(n, maxFirst-len(c.first))]...)
		if c.why = c.mismatch(b[:n]); c.why != nil {
			return 0, c.why
		}
	}
	return n, err
}

// mismatch returns why the server does not fit, as far as its first replies say so. Names and holder texts in them may
// have the same words: what counts is the mode that comes first, in the reply to HELLO, and an error that begins what
// was just read.
func (c *roleConn) mismatch(read []byte) error {
	secure := c.target.tls.On
	_, mode, _ := bytes.Cut(c.first, []byte("mode\r\n$"))
	is := func(text string) bool { return bytes.HasPrefix(mode, []byte(text)) }
	fails := func(text string) bool { return bytes.HasPrefix(read, []byte("-ERR "+text)) }
	switch {
	case c.isSentinel && (fails("unknown command 'sentinel'") || fails("unknown command 'SENTINEL'") ||
		is("10\r\nstandalone") || is("7\r\ncluster")):
		return c.target.mismatch("this server is no Sentinel", c.address, secure, oneServer)
	case !c.isSentinel && is("8\r\nsentinel"):
		return c.target.mismatch("this server is a Sentinel", c.address, secure, behindSentinels)
	case fails("This instance has cluster support disabled"):
		return c.target.mismatch("this server is not part of a Cluster", c.address, secure, oneServer)
	}
	return nil
}

// rawRoleConn is a roleConn whose socket can be looked at.
type rawRoleConn struct {
	*roleConn
	raw syscall.Conn
}

// SyscallConn implements syscall.Conn.
func (c *rawRoleConn) SyscallConn() (syscall.RawConn, error) { return c.raw.SyscallConn() }
