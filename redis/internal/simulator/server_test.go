package simulator

import (
	"fmt"
	"sync"
	"time"
)

// clock is a server's clock: it is off, and runs at another rate than the clients' clocks.
type clock struct {
	began time.Time
	off   time.Duration
	rate  float64
}

func (c *clock) now() time.Time {
	return c.began.Add(time.Duration(float64(time.Since(c.began))*c.rate) + c.off)
}

// server is one process, from its start to its end.
type server struct {
	cluster   *cluster
	address   string
	runID     string
	clock     *clock
	startedAt time.Time
	epoch     int

	mu      sync.Mutex
	data    map[string]*value
	scripts map[string]string
	thawed  chan struct{} // closed unless it is frozen
	gone    chan struct{} // closed when it ends
}

// now is the time of the server in ms.
func (s *server) now() int64 { return s.clock.now().UnixMilli() }

func (s *server) uptime() int64 { return int64(time.Since(s.startedAt) / time.Second) }

func (s *server) mode() string {
	if s.cluster.alone {
		return "standalone"
	}
	return "cluster"
}

// confirmations returns how many replicas confirm a change. There are none; the simulation decides.
func (s *server) confirmations(wanted int64) int64 {
	if s.cluster.confirmTooFew(s) {
		return 0
	}
	return wanted
}

// execute executes a command that has arrived. asking says that ASK redirected the client to this
// server.
func (s *server) execute(args []string, asking bool) any {
	s.cluster.mu.Lock() // slots do not move meanwhile
	defer s.cluster.mu.Unlock()
	s.mu.Lock()
	defer s.mu.Unlock()
	if answer, elsewhere := s.cluster.redirection(s, keysOf(args), asking); elsewhere {
		return answer
	}
	switch args[0] {
	case "script":
		return s.load(args[2])
	case "evalsha":
		keys := 3 + integer(args[2])
		return s.run(args[1], args[3:keys], args[keys:])
	}
	return s.do(args)
}

// keysOf returns the keys that a command names.
func keysOf(args []string) []string {
	switch args[0] {
	case "watch":
		return args[1:]
	case "evalsha":
		return args[3 : 3+integer(args[2])]
	}
	return nil
}

// freeze lets nothing arrive any more, until thaw.
func (s *server) freeze() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.thawed = make(chan struct{})
}

func (s *server) thaw() {
	s.mu.Lock()
	defer s.mu.Unlock()
	close(s.thawed)
}

// awaitArrival waits until a sent request has arrived, and fails if the server ends before.
func (s *server) awaitArrival() error {
	s.mu.Lock()
	thawed := s.thawed
	s.mu.Unlock()
	select {
	case <-thawed:
	case <-s.gone:
	}
	select {
	case <-s.gone:
		return errConnectionBroken
	default:
		return nil
	}
}

// start starts a server at an address, replacing the one before.
func (c *cluster) start(at int, k *clock, begun time.Time, data map[string]*value) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.starts++
	s := &server{
		cluster: c, address: address(at), runID: fmt.Sprintf("%040d", c.starts), clock: k, startedAt: begun,
		data: data, scripts: map[string]string{}, thawed: make(chan struct{}), gone: make(chan struct{}),
	}
	close(s.thawed)
	if before := c.servers[at]; before != nil {
		s.epoch = before.epoch
	}
	c.servers[at] = s
}

// stop ends the server at an address, and returns it with its data.
func (c *cluster) stop(at int) *server {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.servers[at]
	close(s.gone)
	c.servers[at] = nil
	return s
}

// address returns an address outside this machine. The client library would replace a local address
// with the one it has connected to.
func address(at int) string { return fmt.Sprintf("10.0.0.%d:6379", at) }
