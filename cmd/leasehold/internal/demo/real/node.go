package real

import (
	"fmt"
	"sync/atomic"
	"time"

	goredis "github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"

	"github.com/leasehold-go/leasehold/internal/redisserver"
)

// node is a server as clients know it, whichever process stands behind its address.
type node struct {
	server  *redisserver.Server
	address atomic.Pointer[string]
}

func newNode(s *redisserver.Server) *node {
	n := &node{server: s}
	n.leadsTo(s)
	return n
}

// leadsTo lets new connections go to another process.
func (n *node) leadsTo(s *redisserver.Server) {
	address := s.Addr()
	n.address.Store(&address)
}

// key is that of the lock, with leasehold and without.
func (w *world) key() string { return "lock:" + w.name }

// detachReplica sees to it that nothing more gets to the replica, as if it were behind.
func (w *world) detachReplica() error {
	if w.own == nil {
		return nil
	}
	if err := w.own.Replicas[0].Pause(); err != nil {
		return err
	}
	_, err := w.own.Master.Command("CLIENT", "KILL", "TYPE", "replica") // or what the master sends would wait for it
	return err
}

// Kill implements [stage.World].
func (w *world) Kill(i int) { w.nodes[i].server.Kill() }

// Return implements [stage.World].
func (w *world) Return(i int) {
	if err := w.comeBack(w.nodes[i]); err != nil {
		w.fail(err)
	}
}

func (w *world) comeBack(n *node) error {
	if w.own == nil {
		return n.server.Restart() // it keeps nothing
	}
	replica := w.own.Replicas[0]
	if err := replica.Resume(); err != nil {
		return err
	}
	if _, err := replica.Command("REPLICAOF", "NO", "ONE"); err != nil {
		return err
	}
	n.leadsTo(replica)
	return nil
}

// JumpClock implements [stage.World]. Setting the clock of one process takes a library that is put under it; this is what it comes to.
func (w *world) JumpClock(i int) {
	s := w.nodes[i].server
	if _, err := s.Command("PEXPIRE", w.key(), "1"); err != nil {
		w.fail(err)
	}
	for range 100 {
		there, err := s.Command("EXISTS", w.key())
		if err != nil {
			w.fail(err)
		}
		if there == int64(0) {
			return
		}
		w.Sleep(2 * time.Millisecond)
	}
	w.fail(fmt.Errorf("the lock does not run out at %s", s.Addr()))
}

// options are those of a client of go-redis that does what it is told, once.
func options(address string) *goredis.Options {
	return &goredis.Options{
		Addr:                     address,
		MaxRetries:               -1, // 0 would be its default
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
