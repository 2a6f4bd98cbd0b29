// Package wire counts the commands that clients send to servers, whichever library sends them: it reads along on
// their connections. What scripts and functions call inside of the server is not among them.
package wire

import (
	"net"
	"sync/atomic"
)

// Counter counts commands. It may be used by many goroutines at the same time.
type Counter struct{ commands atomic.Int64 }

// Commands returns how many commands have been sent so far.
func (c *Counter) Commands() int64 { return c.commands.Load() }

// Add counts what is not seen on a connection.
func (c *Counter) Add(n int64) { c.commands.Add(n) }

// Redis returns a new connection to a Redis server with its commands counted. All else of it stays as it was.
func (c *Counter) Redis(n net.Conn) net.Conn { return watched(n, &requests{counter: c}) }

// Postgres is Redis for a connection to a PostgreSQL server, without TLS: each statement that is executed counts.
func (c *Counter) Postgres(n net.Conn) net.Conn {
	// Execute, of the extended protocol, and Query: https://www.postgresql.org/docs/current/protocol-message-formats.html.
	return watched(n, &messages{counter: c, tags: "EQ", itself: 4})
}

// ZooKeeper is Redis for a connection to a ZooKeeper server: each request counts, be it a heartbeat.
func (c *Counter) ZooKeeper(n net.Conn) net.Conn { return watched(n, &messages{counter: c}) }

// reader reads along, however messages are cut into pieces.
type reader interface{ read(p []byte) }

func watched(n net.Conn, r reader) net.Conn {
	if tcp, ok := n.(*net.TCPConn); ok {
		// Clients look for what a TCP connection can do beyond net.Conn.
		return &tcpConn{TCPConn: tcp, reader: r}
	}
	return &conn{Conn: n, reader: r}
}

type tcpConn struct {
	*net.TCPConn
	reader reader
}

func (c *tcpConn) Write(p []byte) (int, error) {
	c.reader.read(p) // before: the answer may be there when Write returns
	return c.TCPConn.Write(p)
}

type conn struct {
	net.Conn
	reader reader
}

func (c *conn) Write(p []byte) (int, error) {
	c.reader.read(p) // before: the answer may be there when Write returns
	return c.Conn.Write(p)
}
