package zookeeperserver

import (
	"fmt"
	"io"
	"net"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// wordLimit is how long the answer to a word may take.
const wordLimit = 2 * time.Second

// Word sends a four-letter word, such as "srvr", to the server and returns the answer: see
// https://zookeeper.apache.org/doc/current/zookeeperAdmin.html#sc_4lw.
func (s *Server) Word(word string) (string, error) {
	conn, err := s.dial()
	if err != nil {
		return "", err
	}
	defer conn.Close()
	if _, err := io.WriteString(conn, word); err != nil {
		return "", err
	}
	said, err := io.ReadAll(conn)
	return string(said), err
}

// dial connects to the server. The connection ends after wordLimit.
func (s *Server) dial() (net.Conn, error) {
	conn, err := net.DialTimeout("tcp", s.Addr(), wordLimit)
	if err != nil {
		return nil, err
	}
	if err := conn.SetDeadline(time.Now().Add(wordLimit)); err != nil {
		conn.Close()
		return nil, err
	}
	return conn, nil
}

// Role returns the role of the server: "standalone", "leader", "follower" or "observer". A server that serves nobody,
// since it has no leader, has no role, which is an error.
func (s *Server) Role() (string, error) {
	said, err := s.Word("srvr")
	if err != nil {
		return "", err
	}
	for line := range strings.Lines(said) {
		if role, ok := strings.CutPrefix(line, "Mode: "); ok {
			return strings.TrimSpace(role), nil
		}
	}
	return "", fmt.Errorf("%v tells no role: %q", s, said)
}

// Session is a session of a client that is connected to a server.
type Session struct {
	ID int64
	// Client is the address of the client's end of the connection.
	Client string
	// Timeout is how long the session lasts without a message from the client.
	Timeout time.Duration
}

// connection matches a line of the answer to the word cons, such as "
// /127.0.0.1:40000[1](queued=0,recved=2,sent=2,sid=0x10,lop=PING,to=4000)".
var connection = regexp.MustCompile(`(?m)^ /(\S+)\[.*[(,]sid=0x([0-9a-f]+),.*\bto=(\d+)`)

// Sessions returns the sessions of the clients that are connected to the server.
func (s *Server) Sessions() (all []Session, err error) {
	said, err := s.Word("cons")
	if err != nil {
		return nil, err
	}
	for _, found := range connection.FindAllStringSubmatch(said, -1) {
		id, err := strconv.ParseUint(found[2], 16, 64)
		if err != nil {
			return nil, err
		}
		ms, err := strconv.Atoi(found[3])
		if err != nil {
			return nil, err
		}
		all = append(all, Session{int64(id), found[1], time.Duration(ms) * time.Millisecond})
	}
	return all, nil
}
