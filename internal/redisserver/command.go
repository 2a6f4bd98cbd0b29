package redisserver

import (
	"bufio"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"
)

// CommandLimit is how long Command waits for a reply.
const CommandLimit = 5 * time.Second

// Command sends a command over a new connection and returns the reply: a string, an int64, nil, or
// a []any of those. For an error reply, the error wraps a ReplyError. Every other error means that
// there was no reply, and that the command may have run or not.
//
// It authenticates with Config.Password first. It is safe for concurrent use.
func (s *Server) Command(args ...string) (any, error) {
	return s.command(CommandLimit, args...)
}

func (s *Server) command(limit time.Duration, args ...string) (any, error) {
	if len(args) == 0 {
		return nil, errors.New("redisserver: a command without words: give its name")
	}
	reply, err := s.roundTrip(limit, args)
	if e, ok := reply.(ReplyError); ok && err == nil {
		reply, err = nil, e
	}
	if err != nil { // the arguments may hold a password
		return nil, fmt.Errorf("redisserver: %s to %s: %w", args[0], s.Addr(), err)
	}
	return reply, nil
}

func (s *Server) roundTrip(limit time.Duration, args []string) (any, error) {
	deadline := time.Now().Add(limit)
	conn, err := (&net.Dialer{Deadline: deadline}).Dial("tcp", s.Addr())
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	if err := conn.SetDeadline(deadline); err != nil {
		return nil, err
	}
	replies := bufio.NewReader(conn)
	if s.password != "" {
		if _, err := conn.Write(request([]string{"AUTH", s.password})); err != nil {
			return nil, err
		}
		if reply, err := readReply(replies); err != nil || reply != "OK" {
			if e, refused := reply.(ReplyError); refused {
				err = e
			}
			return nil, err
		}
	}
	if _, err := conn.Write(request(args)); err != nil {
		return nil, err
	}
	return readReply(replies)
}

// Info returns a field of INFO, such as "run_id", or "" if there is no such field.
func (s *Server) Info(field string) (string, error) {
	all, err := s.text("INFO", "everything")
	if err != nil {
		return "", err
	}
	return infoField(all, field), nil
}

// infoField finds a field in a reply to INFO or CLUSTER INFO.
func infoField(info, field string) string {
	for line := range strings.Lines(info) {
		if value, ok := strings.CutPrefix(line, field+":"); ok {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

// text is Command for replies that are strings.
func (s *Server) text(args ...string) (string, error) {
	reply, err := s.Command(args...)
	if err != nil {
		return "", err
	}
	text, ok := reply.(string)
	if !ok {
		return "", fmt.Errorf("redisserver: %s to %s: the reply is a %T, not a string", args[0], s.Addr(), reply)
	}
	return text, nil
}

// commands sends commands one after another, until one fails.
func (s *Server) commands(all ...[]string) error {
	for _, args := range all {
		if _, err := s.Command(args...); err != nil {
			return err
		}
	}
	return nil
}
