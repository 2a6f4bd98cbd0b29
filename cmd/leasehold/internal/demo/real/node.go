package real

import (
	"fmt"
	"sync/atomic"
	"time"

	goredis "github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"

	"github.com/leasehold-go/leasehold/internal/redisserver"
)

// node is a server as clients know it: an address, whichever process is behind it.
type node struct {
	server  *redisserver.Server
	address atomic.Pointer[string]
}

func newNode(s *redisserver.Server) *node {
	n := &node{server: s}
	n.directTo(s)
	return n
}

// directTo makes new connections go to another process.
func (n *node) directTo(s *redisserver.Server) {
	address := s.Addr()
	n.address.Store(&address)
}

// key returns the Redis key of the lock, the same with leasehold and without.
func (e *environment) key() string { return "lock:" + e.name }

// detachReplica keeps everything from the replica from now on, as if it lagged behind.
func (e *environment) detachReplica() error {
	if e.replicated == nil {
		return nil
	}
	if err := e.replicated.Replicas[0].Pause(); err != nil {
		return err
	}
	// Otherwise the master would keep sending to the paused replica.
	_, err := e.replicated.Master.Command("CLIENT", "KILL", "TYPE", "replica")
	return err
}

// Kill implements [scenario.Environment].
func (e *environment) Kill(i int) { e.nodes[i].server.Kill() }

// Return implements [scenario.Environment].
func (e *environment) Return(i int) {
	if err := e.restartOrPromote(e.nodes[i]); err != nil {
		e.fail(err)
	}
}

func (e *environment) restartOrPromote(n *node) error {
	if e.replicated == nil {
		return n.server.Restart() // it stores nothing
	}
	replica := e.replicated.Replicas[0]
	if err := replica.Resume(); err != nil {
		return err
	}
	if _, err := replica.Command("REPLICAOF", "NO", "ONE"); err != nil {
		return err
	}
	n.directTo(replica)
	return nil
}

// JumpClock implements [scenario.Environment]. Only a preloaded library could set the clock of one process; this has
// the same effect.
func (e *environment) JumpClock(i int) {
	s := e.nodes[i].server
	if _, err := s.Command("PEXPIRE", e.key(), "1"); err != nil {
		e.fail(err)
	}
	for range 100 {
		there, err := s.Command("EXISTS", e.key())
		if err != nil {
			e.fail(err)
		}
		if there == int64(0) {
			return
		}
		e.Sleep(2 * time.Millisecond)
	}
	e.fail(fmt.Errorf("the lock does not run out at %s", s.Addr()))
}

// clientOptions returns the options of a go-redis client that sends each command once.
func clientOptions(address string) *goredis.Options {
	return &goredis.Options{
		Addr:                     address,
		MaxRetries:               -1, // 0 means the default
		DialerRetries:            1,
		DialTimeout:              time.Second,
		ReadTimeout:              20 * time.Second,
		WriteTimeout:             20 * time.Second,
		ContextTimeoutEnabled:    true,
		PoolSize:                 8,
		DisableIdentity:          true,
		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
	}
}
