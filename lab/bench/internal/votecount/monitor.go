package votecount

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"sync"
)

// Monitor reads all commands that Redis servers run, from clients and from scripts (MONITOR). That
// slows the servers down, so nothing else should be measured at the same time. It does not see
// leases expire, so do not watch for that long.
type Monitor struct {
	name    string
	conns   []net.Conn
	readers sync.WaitGroup

	mu      sync.Mutex
	over    bool
	changes []change
	failed  error
}

// Watch begins to follow the key of a lock on all nodes: the key whose name ends with that of the
// lock.
func Watch(ctx context.Context, addrs []string, name string) (*Monitor, error) {
	m := &Monitor{name: name}
	for i, addr := range addrs {
		conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", addr)
		if err != nil {
			_, _ = m.Stop()
			return nil, err
		}
		m.conns = append(m.conns, conn)
		lines := bufio.NewReader(conn)
		if _, err = fmt.Fprint(conn, "MONITOR\r\n"); err == nil {
			var answer string
			if answer, err = lines.ReadString('\n'); err == nil && answer != "+OK\r\n" {
				err = errors.New("it answers " + strings.TrimSpace(answer))
			}
		}
		if err != nil {
			_, _ = m.Stop()
			return nil, fmt.Errorf("MONITOR at %s: %w", addr, err)
		}
		m.readers.Go(func() { m.read(i, lines) })
	}
	return m, nil
}

// Stop returns the outcome of the takes since Watch.
func (m *Monitor) Stop() (Count, error) {
	m.mu.Lock()
	m.over = true
	m.mu.Unlock()
	for _, conn := range m.conns {
		_ = conn.Close() // nothing is sent
	}
	m.readers.Wait()
	if m.failed != nil || len(m.conns) == 0 {
		return Count{}, m.failed
	}
	return count(len(m.conns), m.changes), nil
}

func (m *Monitor) read(node int, lines *bufio.Reader) {
	for {
		line, err := lines.ReadString('\n')
		var ch change
		var ours bool
		if err == nil {
			ch, ours, err = parse(line, m.name)
		}
		m.mu.Lock()
		switch {
		case m.over:
		case err != nil:
			m.failed = errors.Join(m.failed, fmt.Errorf("MONITOR of node %d: %w", node+1, err))
		case ours:
			ch.node = node
			m.changes = append(m.changes, ch)
		}
		m.mu.Unlock()
		if err != nil {
			return
		}
	}
}

// parse reads a line such as
//
//	+1795273857.674105 [0 lua] "SET" "lock:name" "owner\n17" "NX" "PX" "1000"
//
// and reports whether it changes the key of the lock.
func parse(line, name string) (ch change, ours bool, err error) {
	if !strings.Contains(line, name) {
		return change{}, false, nil
	}
	broken := func() (change, bool, error) {
		return change{}, false, fmt.Errorf("it says %.200q", line)
	}
	at, rest, _ := strings.Cut(strings.TrimPrefix(line, "+"), " ")
	_, rest, _ = strings.Cut(rest, "] ")
	command, rest, _ := strings.Cut(rest, " ")
	sets := strings.EqualFold(command, `"SET"`)
	if !sets && !strings.EqualFold(command, `"DEL"`) {
		return change{}, false, nil
	}
	if ch.at, err = strconv.ParseInt(strings.Replace(at, ".", "", 1), 10, 64); err != nil {
		return broken()
	}
	var words []string
	for rest = strings.TrimSpace(rest); rest != ""; rest = strings.TrimSpace(rest) {
		quoted, err := strconv.QuotedPrefix(rest)
		if err != nil {
			return broken()
		}
		word, err := strconv.Unquote(quoted)
		if err != nil {
			return broken()
		}
		words, rest = append(words, word), rest[len(quoted):]
	}
	switch {
	case len(words) == 0 || !strings.HasSuffix(words[0], name):
		// Another key: the lock's name is only in a value, or in the middle of the key's name.
		return change{}, false, nil
	case !sets:
		return ch, true, nil
	case len(words) == 1:
		return broken()
	}
	ch.owner, _, _ = strings.Cut(words[1], "\n")
	for _, option := range words[2:] {
		ch.ifFree = ch.ifFree || strings.EqualFold(option, "NX")
	}
	return ch, true, nil
}
