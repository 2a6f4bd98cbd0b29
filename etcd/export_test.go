package etcd

import (
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/leasehold-go/leasehold/driver"
)

// OwnerMark returns how an owner appears in the values of its keys.
var OwnerMark = ownerMark

// ReportSent reports to the caller that a request was sent to a member.
var ReportSent = reportSent

// SetLateRequestTime sets how long a request may still arrive after nobody waits for it any more. The engine must not
// have been used yet.
func SetLateRequestTime(e *Engine, d time.Duration) { e.ownedKeys.lateRequestTime = d }

// IsTracked reports whether the engine still knows of an owner.
func IsTracked(e *Engine, r driver.Request) bool {
	e.ownedKeys.mu.Lock()
	defer e.ownedKeys.mu.Unlock()
	return e.ownedKeys.findLocked(r.Key, r.Owner) != nil
}

// RetireSessions retires all present sessions of the engine.
func RetireSessions(e *Engine) {
	for _, s := range e.sessions.bySeconds {
		defer e.sessions.retire([]clientv3.LeaseID{s.base})
	}
}
