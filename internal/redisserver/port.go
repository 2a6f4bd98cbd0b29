package redisserver

import (
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"strconv"
	"sync"
	"syscall"
)

// Ports are taken from below those that the system gives to outgoing connections and to listeners on port 0, so
// that nobody gets the port of a server that is down for the moment. A node of a cluster listens on a second port
// for the other nodes, which is the first one + busOffset.
const (
	firstPort = 10_000
	lastPort  = 19_999
	busOffset = 10_000
	portTries = 500
)

// ports are those that this process has reserved, each with what tells other processes so.
var ports = struct {
	sync.Mutex
	claims map[int]io.Closer
}{claims: map[int]io.Closer{}}

// reservePort returns a port that nobody listens on, nor on that + busOffset, and that no other server of any such process has
// reserved, also while it is down.
func reservePort() (int, error) {
	ports.Lock()
	defer ports.Unlock()
	for range portTries {
		port := firstPort + rand.IntN(lastPort-firstPort+1)
		if ports.claims[port] != nil || !isFree(port) || !isFree(port+busOffset) {
			continue
		}
		if c, err := claim(port); err == nil {
			ports.claims[port] = c
			return port, nil
		}
	}
	return 0, errors.New("redisserver: no free port between " + strconv.Itoa(firstPort) + " and " + strconv.Itoa(lastPort) + " was found: end some of what listens there")
}

func releasePort(port int) {
	ports.Lock()
	defer ports.Unlock()
	if c := ports.claims[port]; c != nil {
		_ = c.Close() // nobody has connected to it
		delete(ports.claims, port)
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
	l, err := net.Listen("tcp", address(port))
	if err != nil {
		return false
	}
	return l.Close() == nil
}

// address is that of a port of this machine.
func address(port int) string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(port)) }
