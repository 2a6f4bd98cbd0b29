package etcd

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/leasehold-go/leasehold/driver"
)

// session is a lease of etcd. All locks of a process with about the same ttl are on one: it lasts longer than any of them, and ends the lot
// if the process does not live to do that. So it takes no write to renew a lock.
type session struct {
	seconds int64
	id      clientv3.LeaseID
	gone    chan struct{} // closed when it has ended on the server
	retired atomic.Bool   // nobody else comes to it, and those who are there leave it when they can

	// Guarded by sessions.mu.
	alive   driver.Instant // a moment not after the one from which the server counts
	lasts   time.Duration  // from alive on, less what clocks may drift apart
	flight  *flight        // a request to keep it alive
	waiters int
	beating chan struct{} // closed when nobody waits any more
}

// flight is a request that several callers wait for.
type flight struct {
	done chan struct{}
	err  error
}

// isGone reports whether the session has ended, as far as is known.
func (s *session) isGone() bool {
	select {
	case <-s.gone:
		return true
	default:
		return false
	}
}

// class returns for how many seconds a session lasts that carries locks of a ttl. It is some seconds longer, so that it need not be kept
// alive for each of their renewals; and so much longer than the deadline of a lock that whoever outlives its process does not notice much.
// Long ones come in steps of an eighth, so that there are few.
func class(ttl time.Duration) int64 {
	const least, most = 2 * time.Second, 10 * time.Second
	ttl += ttl/64 + min(max(ttl/4, least), most) // more than lasting takes away
	s := int64((ttl + time.Second - 1) / time.Second)
	step := int64(1)
	for s/step >= 16 {
		step *= 2
	}
	return (s + step - 1) / step * step
}

// lasting is how long a session is relied on: a hundredth less than it is given for, as clocks may differ by that.
func lasting(seconds int64) time.Duration {
	d := time.Duration(seconds) * time.Second
	return d - d/100 - 2*time.Millisecond
}

// grant gets a session.
func (e *Engine) grant(ctx context.Context, seconds int64) (*session, error) {
	ctx, over, err := e.bounded(ctx)
	if err != nil {
		return nil, err
	}
	defer over()
	sent := driver.Now()
	r, err := e.leases.LeaseGrant(ctx, &pb.LeaseGrantRequest{TTL: seconds})
	if err != nil {
		return nil, noEffect(explain(clientv3.ContextError(ctx, err))) // a lease without a lock on it is nobody's loss
	}
	return &session{seconds: seconds, id: clientv3.LeaseID(r.ID), lasts: lasting(min(seconds, r.TTL)), gone: make(chan struct{}), alive: sent}, nil
}

// keepAlive makes a session last its time anew, and returns from when on. It answers errSession if it has ended.
//
// The leader keeps leases alive from its memory, without asking the others. One that does not know yet that another was elected, as it
// stood still or its disk did, still says yes, and the session ends all the same. So that counts only if the term in which it was said has
// not passed when, afterwards, a majority answers a read.
func (e *Engine) keepAlive(ctx context.Context, s *session) (from driver.Instant, lasts time.Duration, err error) {
	ctx, over, err := e.bounded(ctx)
	if err != nil {
		return from, 0, err
	}
	defer over()
	from = driver.Now()
	r, err := e.keepAliveOnce(ctx, s.id)
	switch {
	case errors.Is(err, rpctypes.ErrLeaseNotFound) || err == nil && r.TTL <= 0:
		return from, 0, errSession
	case err != nil:
		return from, 0, noEffect(explain(err))
	}
	confirmed, err := e.read(ctx, &pb.RangeRequest{Key: []byte(e.prefix), CountOnly: true})
	if err != nil {
		return from, 0, err
	}
	if r.Header.GetRaftTerm() != confirmed.Header.GetRaftTerm() {
		return from, 0, errTerm
	}
	return from, lasting(min(s.seconds, r.TTL)), nil
}

func (e *Engine) keepAliveOnce(ctx context.Context, id clientv3.LeaseID) (*pb.LeaseKeepAliveResponse, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel() // which ends the stream
	stream, err := e.leases.LeaseKeepAlive(ctx)
	if err != nil {
		return nil, clientv3.ContextError(ctx, err)
	}
	if err := stream.Send(&pb.LeaseKeepAliveRequest{ID: int64(id)}); err != nil {
		return nil, clientv3.ContextError(ctx, err)
	}
	r, err := stream.Recv()
	return r, clientv3.ContextError(ctx, err)
}
