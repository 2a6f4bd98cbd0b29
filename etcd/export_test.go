package etcd

import (
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/leasehold-go/leasehold/driver"
)

// MarkOf is how an owner appears in the values of its keys.
var MarkOf = markOf

// Sent tells the caller that a request has gone to a member.
var Sent = sent

// SetLateness sets how long a request is reckoned with that nobody waits for any more. It is for an engine that has not been used yet.
func SetLateness(e *Engine, d time.Duration) { e.members.lateness = d }

// Reckons reports whether the engine still reckons with an owner.
func Reckons(e *Engine, r driver.Request) bool {
	e.members.mu.Lock()
	defer e.members.mu.Unlock()
	return e.members.find(r.Key, r.Owner) != nil
}

// Retire lets nobody else come to the sessions that there are.
func Retire(e *Engine) {
	for _, s := range e.sessions.all {
		defer e.sessions.retire([]clientv3.LeaseID{s.base})
	}
}
