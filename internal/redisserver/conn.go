package redisserver

import (
	"bufio"
	"fmt"
	"net"
	"time"
)

// Conn is a connection to a server, for commands that Command is not for: MONITOR, subscriptions, and many commands in
// a row. Only one goroutine may use it at a time.
type Conn struct {
	conn    net.Conn
	replies *bufio.Reader
}

// Dial returns a new connection, authenticated with Config.Password.
func (s *Server) Dial() (*Conn, error) {
	conn, err := net.DialTimeout("tcp", s.Addr(), CommandLimit)
	if err != nil {
		return nil, fmt.Errorf("redisserver: %w", err)
	}
	c := &Conn{conn, bufio.NewReader(conn)}
	if s.password != "" {
		if _, err := c.Do("AUTH", s.password); err != nil {
			_ = conn.Close() // the error says what is wrong
			return nil, err
		}
	}
	return c, nil
}

// Do sends a command and returns its reply, as Server.Command does. It waits for CommandLimit at most.
func (c *Conn) Do(args ...string) (any, error) {
	if err := c.conn.SetDeadline(time.Now().Add(CommandLimit)); err != nil {
		return nil, fmt.Errorf("redisserver: %w", err)
	}
	if _, err := c.conn.Write(request(args)); err != nil {
		return nil, fmt.Errorf("redisserver: %s: %w", args[0], err)
	}
	reply, err := readReply(c.replies)
	if e, ok := reply.(ReplyError); ok && err == nil {
		reply, err = nil, e
	}
	if err != nil {
		return nil, fmt.Errorf("redisserver: %s: %w", args[0], err)
	}
	return reply, nil
}

// Read returns the next message that the server sends without being asked. It waits until there is one.
func (c *Conn) Read() (any, error) {
	if err := c.conn.SetDeadline(time.Time{}); err != nil {
		return nil, fmt.Errorf("redisserver: %w", err)
	}
	reply, err := readReply(c.replies)
	if err != nil {
		return nil, fmt.Errorf("redisserver: %w", err)
	}
	return reply, nil
}

// LocalAddr returns the address of this end, as MONITOR shows it.
func (c *Conn) LocalAddr() string { return c.conn.LocalAddr().String() }

// Close closes the connection. A Read in another goroutine then fails.
func (c *Conn) Close() error { return c.conn.Close() }
