// Package ports reserves ports of this machine for servers that tests start. A server gets the same
// port again after it was down.
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

// Ports lie below those that the system uses for outgoing connections and for listeners on port 0,
// so that no other program gets the port of a server that is down for a moment.
const (
	first = 10_000
	last  = 19_999
	tries = 500
)

// reserved maps the ports of this process to the claims that other processes see.
var reserved = struct {
	sync.Mutex
	claims map[int]io.Closer
}{claims: map[int]io.Closer{}}

// Reserve returns a port on which nobody listens and which nobody has reserved, in any process that
// uses this package. The same holds for the ports at the given offsets behind it. The port stays
// reserved until Release, even while nobody listens on it. It is safe for concurrent use.
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

// Release returns a reserved port. It ignores any other.
func Release(port int) {
	reserved.Lock()
	defer reserved.Unlock()
	if c := reserved.claims[port]; c != nil {
		_ = c.Close() // nobody has connected to it
		delete(reserved.claims, port)
	}
}

// claim keeps other processes from reserving a port: it listens on the same port of another address
// of this machine; the listener ends with the process. If there is no such address, it claims
// nothing.
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

// Address returns host:port for a port of this machine.
func Address(port int) string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(port)) }
