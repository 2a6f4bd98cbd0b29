package redissonwire

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/leasehold-go/leasehold/internal/needed"
	"github.com/leasehold-go/leasehold/internal/redisserver"
)

// channel is that of the recorder's own messages, and barrierLimit how long it waits for one of them.
const (
	channel      = "redissonwire-recorder"
	barrierLimit = 10 * time.Second
)

// Message is a message that was published.
type Message struct{ Channel, Payload string }

// Recorder writes down the commands of all clients of some servers, and the messages. It is safe for concurrent use.
type Recorder struct {
	nodes []*node
	conns []*redisserver.Conn
	done  sync.WaitGroup

	mu       sync.Mutex
	cond     *sync.Cond
	err      error
	blocks   []block
	messages []Message
	seen     map[string]int // how often each barrier has come back
	barriers int
}

// node is a server, with the connection for the recorder's commands. Connections to two servers may have the same
// address at their own end.
type node struct {
	conn  *redisserver.Conn
	own   map[string]bool   // addresses of the recorder's connections
	names map[string]string // of clients, by their addresses
	last  int               // its last block, to which the commands of a script belong, or -1
}

// Record starts to record what happens on servers: one server, or the masters of a cluster. It ends with the test.
func Record(t needed.TB, servers ...*redisserver.Server) *Recorder {
	t.Helper()
	r := &Recorder{seen: map[string]int{}}
	r.cond = sync.NewCond(&r.mu)
	t.Cleanup(r.close)
	for i, s := range servers {
		if err := r.add(s, i == 0); err != nil {
			t.Fatalf("%v", err)
		}
	}
	return r
}

// add records a server. In a cluster, one server sees the messages of all.
func (r *Recorder) add(s *redisserver.Server, messages bool) error {
	n := &node{own: map[string]bool{}, names: map[string]string{}, last: -1}
	var err error
	if n.conn, err = r.dial(s, n); err != nil {
		return err
	}
	r.nodes = append(r.nodes, n)
	monitor, err := r.dial(s, n)
	if err != nil {
		return err
	}
	if _, err := monitor.Do("MONITOR"); err != nil {
		return err
	}
	r.done.Go(func() { r.read(monitor, func(reply any) error { return r.sawCommand(n, reply) }) })
	if !messages {
		return nil
	}
	subscriber, err := r.dial(s, n)
	if err != nil {
		return err
	}
	if _, err := subscriber.Do("PSUBSCRIBE", "*"); err != nil {
		return err
	}
	r.done.Go(func() { r.read(subscriber, r.sawMessage) })
	return nil
}

func (r *Recorder) dial(s *redisserver.Server, n *node) (*redisserver.Conn, error) {
	c, err := s.Dial()
	if err != nil {
		return nil, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.conns = append(r.conns, c)
	n.own[c.LocalAddr()] = true
	return c, nil
}

func (r *Recorder) close() {
	for _, c := range r.conns {
		_ = c.Close() // nothing is read from it any more
	}
	r.done.Wait()
}

// read passes on what a connection receives until it is closed.
func (r *Recorder) read(c *redisserver.Conn, saw func(any) error) {
	for {
		reply, err := c.Read()
		r.mu.Lock()
		if err == nil {
			err = saw(reply)
		}
		r.err = errors.Join(r.err, err)
		r.cond.Broadcast()
		r.mu.Unlock()
		if err != nil {
			return
		}
	}
}

func (r *Recorder) sawCommand(n *node, reply any) error {
	line, ok := reply.(string)
	if !ok {
		return fmt.Errorf("redissonwire: MONITOR has sent a %T", reply)
	}
	c, err := parseCommand(line)
	if err != nil {
		return err
	}
	switch {
	case n.own[c.source]:
		if c.name() == "publish" && c.args[1] == channel {
			r.seen[c.args[2]]++
		}
	case c.inScript():
		if n.last >= 0 {
			last := &r.blocks[n.last]
			last.inner = append(last.inner, c)
		}
	case c.name() == "client" && len(c.args) == 3 && strings.EqualFold(c.args[1], "setname"):
		n.names[c.source] = c.args[2]
	case c.name() == "hello":
		if i := slices.IndexFunc(c.args, func(a string) bool { return strings.EqualFold(a, "setname") }); i > 0 {
			n.names[c.source] = c.args[i+1]
		}
	case !c.ignored():
		n.last = len(r.blocks)
		r.blocks = append(r.blocks, block{command: c, client: n.names[c.source]})
	}
	return nil
}

func (r *Recorder) sawMessage(reply any) error {
	m, ok := reply.([]any)
	if !ok || len(m) != 4 || m[0] != "pmessage" {
		return nil // a confirmation
	}
	switch c, payload := fmt.Sprint(m[2]), fmt.Sprint(m[3]); c {
	case channel:
		r.seen[payload]++
	default:
		r.messages = append(r.messages, Message{c, payload})
	}
	return nil
}

// barrier waits until all that the servers did before has been recorded.
func (r *Recorder) barrier() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, n := range r.nodes {
		r.barriers++
		id := fmt.Sprint(r.barriers)
		r.mu.Unlock()
		_, err := n.conn.Do("PUBLISH", channel, id)
		r.mu.Lock()
		if err != nil {
			return err
		}
		if err := r.await(func() bool { return r.seen[id] >= 2 }); err != nil { // in MONITOR and in the subscription
			return err
		}
		delete(r.seen, id)
	}
	return nil
}

// await waits until something was seen. The recorder is locked.
func (r *Recorder) await(so func() bool) error {
	late := false
	timer := time.AfterFunc(barrierLimit, func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		late = true
		r.cond.Broadcast()
	})
	defer timer.Stop()
	for !so() {
		switch {
		case r.err != nil:
			return r.err
		case late:
			return fmt.Errorf("redissonwire: MONITOR or the subscription is late by more than %v", barrierLimit)
		}
		r.cond.Wait()
	}
	return nil
}

// Clear forgets what was recorded until now, and removes all keys.
func (r *Recorder) Clear() error {
	for _, n := range r.nodes {
		if _, err := n.conn.Do("FLUSHALL"); err != nil {
			return err
		}
	}
	if err := r.barrier(); err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.blocks, r.messages = nil, nil
	for _, n := range r.nodes {
		n.last = -1
	}
	return nil
}

// Do runs a command that is not recorded, on the server that has its keys.
func (r *Recorder) Do(args ...string) (reply any, err error) {
	for _, n := range r.nodes {
		reply, err = n.conn.Do(args...)
		if e, ok := errors.AsType[redisserver.ReplyError](err); !ok || e.Code() != "MOVED" {
			break
		}
	}
	return reply, err
}

// recorded returns what was recorded since the last take. A script that the server did not know, and that the client
// has sent again, is left out.
func (r *Recorder) recorded() (blocks []block, messages []Message, err error) {
	if err := r.barrier(); err != nil {
		return nil, nil, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, b := range r.blocks {
		if !b.isScript() || len(b.inner) > 0 {
			blocks = append(blocks, b)
		}
	}
	return blocks, slices.Clone(r.messages), nil
}

// take forgets the first blocks and messages that were recorded, which a step has accounted for.
func (r *Recorder) take(blocks []block, messages int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	left, taken := len(blocks), 0
	for ; left > 0; taken++ {
		if b := r.blocks[taken]; !b.isScript() || len(b.inner) > 0 {
			left--
		}
	}
	r.blocks = r.blocks[taken:]
	for _, n := range r.nodes {
		n.last = max(n.last-taken, -1)
	}
	r.messages = r.messages[messages:]
}
