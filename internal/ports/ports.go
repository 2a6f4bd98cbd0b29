// Package ports hands out ports of this machine to servers that tests start, which come back on the same port after they were down.
package ports

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"slices"
	"strconv"
	"sync"
	"syscall"
)

// Ports are taken from below those that the system gives to outgoing connections and to listeners on port 0, so
// that nobody gets the port of a server that is down for the moment.
const (
	first = 10_000
	last  = 19_999
	tries = 500
)

// reserved are the ports of this process, each with what tells other processes so.
var reserved = struct {
	sync.Mutex
	claims map[int]io.Closer
}{claims: map[int]io.Closer{}}

// Reserve returns a port that nobody listens on, nor on those that far behind it, and that nobody else has reserved, in any process that
// uses this package. It stays reserved until Release, also while nobody listens on it. Many goroutines may call it.
func Reserve(offsets ...int) (int, error) {
	reserved.Lock()
	defer reserved.Unlock()
	for range tries {
		port := first + rand.IntN(last-first+1)
		taken := func(offset int) bool { return !isFree(port + offset) }
		if reserved.claims[port] != nil || taken(0) || slices.ContainsFunc(offsets, taken) {
			continue
		}
		if c, err := claim(port); err == nil {
			reserved.claims[port] = c
			return port, nil
		}
	}
	return 0, fmt.Errorf("ports: no free port between %d and %d was found: end some of what listens there", first, last)
}

// Release gives a port back that was reserved. It does nothing for any other.
func Release(port int) {
	reserved.Lock()
	defer reserved.Unlock()
	if c := reserved.claims[port]; c != nil {
		_ = c.Close() // nobody has connected to it
		delete(reserved.claims, port)
	}
}

// claim keeps other processes from reserving a port: it listens on the same port of another address of this machine, which ends with
// the process. Where there is no such address, it claims nothing.
func claim(port int) (io.Closer, error) {
	l, err := net.Listen("tcp", net.JoinHostPort("127.0.0.2", strconv.Itoa(port)))
	if errors.Is(err, syscall.EADDRNOTAVAIL) {
		return io.NopCloser(nil), nil
	}
	return l, err
}

func isFree(port int) bool {
	l, err := net.Listen("tcp", Address(port))
	if err != nil {
		return false
	}
	return l.Close() == nil
}

// Address is host:port of a port of this machine.
func Address(port int) string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(port)) }
