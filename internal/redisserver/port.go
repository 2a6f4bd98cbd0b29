package redisserver

import (
	"errors"
	"math/rand/v2"
	"net"
	"strconv"
	"sync"
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

// ports are those that this process has reserved.
var ports = struct {
	sync.Mutex
	taken map[int]bool
}{taken: map[int]bool{}}

// reservePort returns a port that nobody listens on, nor on that + busOffset, and that no other server of this process
// has reserved. Another process may still be faster: who listens on it tells.
func reservePort() (int, error) {
	ports.Lock()
	defer ports.Unlock()
	for range portTries {
		port := firstPort + rand.IntN(lastPort-firstPort+1)
		if !ports.taken[port] && isFree(port) && isFree(port+busOffset) {
			ports.taken[port] = true
			return port, nil
		}
	}
	return 0, errors.New("redisserver: no free port between " + strconv.Itoa(firstPort) + " and " + strconv.Itoa(lastPort) + " was found: end some of what listens there")
}

func releasePort(port int) {
	ports.Lock()
	defer ports.Unlock()
	delete(ports.taken, port)
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
