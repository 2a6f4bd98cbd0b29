// Package wire counts the commands that clients send to servers, whatever the library: it reads
// their connections. It does not see what scripts and functions call inside the server.
package wire

import (
	"net"
	"sync/atomic"
)

// Counter counts commands. It is safe for concurrent use.
type Counter struct{ commands atomic.Int64 }

// Commands returns how many commands have been sent so far.
func (c *Counter) Commands() int64 { return c.commands.Load() }

// Add counts commands that are not seen on a connection.
func (c *Counter) Add(n int64) { c.commands.Add(n) }

// Redis wraps a new connection to a Redis server and counts its commands. It behaves like the
// connection otherwise.
func (c *Counter) Redis(n net.Conn) net.Conn { return watched(n, &requests{counter: c}) }

// Postgres is Redis for a connection to a PostgreSQL server, without TLS: each executed statement
// counts.
func (c *Counter) Postgres(n net.Conn) net.Conn {
	// Execute, of the extended protocol, and Query:
	// https://www.postgresql.org/docs/current/protocol-message-formats.html.
	return watched(n, &messages{counter: c, tags: "EQ", ownBytes: 4})
}

// ZooKeeper is Redis for a connection to a ZooKeeper server: each request counts, including
// heartbeats.
func (c *Counter) ZooKeeper(n net.Conn) net.Conn { return watched(n, &messages{counter: c}) }

// reader reads a copy of the stream, whatever the sizes of its pieces.
type reader interface{ read(p []byte) }

func watched(n net.Conn, r reader) net.Conn {
	if tcp, ok := n.(*net.TCPConn); ok {
		// Clients look for methods of a TCP connection beyond net.Conn.
		return &tcpConn{TCPConn: tcp, reader: r}
	}
	return &conn{Conn: n, reader: r}
}

type tcpConn struct {
	*net.TCPConn
	reader reader
}

func (c *tcpConn) Write(p []byte) (int, error) {
	c.reader.read(p) // read first: the answer may arrive before Write returns
	return c.TCPConn.Write(p)
}

type conn struct {
	net.Conn
	reader reader
}

func (c *conn) Write(p []byte) (int, error) {
	c.reader.read(p) // read first: the answer may arrive before Write returns
	return c.Conn.Write(p)
}
