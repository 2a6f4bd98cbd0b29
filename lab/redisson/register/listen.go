package register

import (
	"bufio"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"sync"

	"github.com/leasehold-go/leasehold/internal/needed"
)

// Listener serves a register over TCP.
type Listener struct {
	register *Register
	listener net.Listener
	done     sync.WaitGroup

	mu    sync.Mutex
	conns map[net.Conn]bool // nil when it is closed
}

// Listen serves a register on a port of this machine until the end of the test.
func (r *Register) Listen(t needed.TB) *Listener {
	t.Helper()
	s, err := r.Serve()
	if err != nil {
		t.Fatalf("%v", err)
	}
	t.Cleanup(s.Close)
	return s
}

// Serve serves a register on a port of this machine until Close.
func (r *Register) Serve() (*Listener, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	s := &Listener{register: r, listener: l, conns: map[net.Conn]bool{}}
	s.done.Go(s.serve)
	return s, nil
}

// Addr returns the address, "127.0.0.1:PORT".
func (s *Listener) Addr() string { return s.listener.Addr().String() }

func (s *Listener) serve() {
	for {
		c, err := s.listener.Accept()
		if err != nil {
			return // it is closed
		}
		s.mu.Lock()
		open := s.conns != nil
		if open {
			s.conns[c] = true
		}
		s.mu.Unlock()
		if !open {
			_ = c.Close() // nobody uses it
			return
		}
		s.done.Go(func() { s.answer(c) })
	}
}

// Close ends all connections.
func (s *Listener) Close() {
	_ = s.listener.Close() // it ends serve
	s.mu.Lock()
	for c := range s.conns {
		_ = c.Close() // it ends answer
	}
	s.conns = nil
	s.mu.Unlock()
	s.done.Wait()
}

func (s *Listener) answer(c net.Conn) {
	defer func() {
		_ = c.Close() // all is answered
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.conns, c)
	}()
	lines := bufio.NewScanner(c)
	for lines.Scan() {
		answer := "ok"
		if err := s.register.line(lines.Text()); err != nil {
			answer = err.Error()
		}
		if _, err := fmt.Fprintln(c, answer); err != nil {
			return
		}
	}
}

// line counts what a line says.
func (r *Register) line(line string) error {
	words := strings.Fields(line)
	switch {
	case len(words) == 3 && words[0] == "leave":
		return r.Leave(words[1], words[2])
	case len(words) == 6 && words[0] == "enter":
		weight, err := strconv.Atoi(words[4])
		var token int64
		if words[5] != "-" {
			var bad error
			token, bad = strconv.ParseInt(words[5], 10, 64)
			err = errors.Join(err, bad)
		}
		if err != nil {
			return err
		}
		return r.Enter(Hold{Name: words[1], Who: words[2], Mode: Mode(words[3]), Weight: weight, Token: token})
	}
	return fmt.Errorf("register: a line of an unknown form: %q", line)
}
