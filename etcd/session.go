package etcd

import (
	"cmp"
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/leasehold-go/leasehold/driver"
)

// A session shows that a process lives: all its entries with about the same ttl name it. It is a key on an etcd lease
// that is kept alive. So renewing a lock takes no write.
//
// The end of a session frees nothing by itself, since it may come too early: an old leader that was paused, and does
// not know yet that it was replaced, revokes what was kept alive elsewhere meanwhile. A client that finds a session
// gone attaches the entries that name it to an etcd lease of their own, see orphans.go. An owner that still lives names
// another session before that ends.
//
// The entries are attached to a second etcd lease, the base. Nobody keeps it alive, so no member can end it too early.
// It removes the entries of dead processes that nobody asks for any more. A living process moves its entries long
// before the base ends.
type session struct {
	seconds   int64
	id        clientv3.LeaseID
	key       string // exists as long as the session
	base      clientv3.LeaseID
	baseStart driver.Instant // no later than the moment from which the base lasts
	baseLife  time.Duration  // how long the base lasts, less drift
	gone      chan struct{}  // closed when the session has ended on the server
	retired   atomic.Bool    // no new entry names it, and the present ones move away when they can

	// Guarded by sessions.mu.
	seenAt        driver.Instant // when the session existed, no later than when the server began to count
	lastsFor      time.Duration  // from seenAt on, less drift
	keepalive     *sharedRequest // the request in flight that keeps the session alive
	waiters       int
	keepaliveStop chan struct{} // closed when the last waiter leaves
}

// sharedRequest is a request that several callers wait for.
type sharedRequest struct {
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

// sessionSeconds returns for how many seconds a session lasts that carries locks of a ttl. Renewals come each third of
// the ttl and keep the session alive. It is no longer than that takes, because waiters for the lock of a dead process
// first have to wait for the end of its session. Long sessions come in steps of an eighth, so that there are few.
func sessionSeconds(ttl time.Duration) int64 {
	const shortest = 3 * time.Second // shorter sessions would end when a machine is busy or a leader is elected
	ttl = max(ttl/2+time.Second, shortest)
	s := wholeSeconds(ttl)
	step := int64(1)
	for s/step >= 16 {
		step *= 2
	}
	return (s + step - 1) / step * step
}

// wholeSeconds rounds up.
func wholeSeconds(d time.Duration) int64 { return int64((d + time.Second - 1) / time.Second) }

// lessDrift returns how long d is at least by another clock: one percent less, since the rates of clocks may differ by
// that.
func lessDrift(d time.Duration) time.Duration { return d - d/100 - 2*time.Millisecond }

// validity returns how long an etcd lease may be relied on.
func validity(seconds int64) time.Duration { return lessDrift(time.Duration(seconds) * time.Second) }

// baseSeconds returns for how many seconds the base of a session lasts. It is long enough that locks rarely have to
// move and there is time to move many, and short enough that what dead processes have left is not there for hours.
// Entries leave a session when half of its base has passed.
func baseSeconds(seconds int64) int64 {
	const shortest = 15 * 60
	return max(shortest, 32*seconds)
}

// isWorn reports whether entries have to leave the session.
func (s *session) isWorn(now driver.Instant) bool { return s.baseLeft(now) < s.baseLife/2 }

// baseLeft returns how long the base certainly lasts.
func (s *session) baseLeft(now driver.Instant) time.Duration {
	return s.baseLife - now.Since(s.baseStart)
}

// createSession creates a session. If it fails it may leave an etcd lease without a lock, which is harmless.
func (e *Engine) createSession(ctx context.Context, seconds int64) (*session, error) {
	s := &session{
		seconds: seconds, baseStart: driver.Now(), baseLife: validity(baseSeconds(seconds)), gone: make(chan struct{}),
	}
	s.seenAt = s.baseStart
	var baseErr error
	var work sync.WaitGroup
	work.Go(func() { s.base, _, baseErr = e.grantEtcdLease(ctx, baseSeconds(seconds)) })
	id, given, err := e.grantEtcdLease(ctx, seconds)
	work.Wait()
	if err = cmp.Or(err, baseErr); err != nil {
		return nil, err
	}
	s.id, s.key, s.lastsFor = id, e.keys.sessionPath(id), validity(min(seconds, given))
	if _, err := e.txn(ctx, nil, ops(opSession(s)), nil); err != nil {
		return nil, noEffect(err)
	}
	return s, nil
}

// grantEtcdLease creates an etcd lease.
func (e *Engine) grantEtcdLease(ctx context.Context, seconds int64) (id clientv3.LeaseID, given int64, err error) {
	ctx, end, err := e.withTimeout(ctx)
	if err != nil {
		return 0, 0, err
	}
	defer end()
	r, err := e.leaseClient.LeaseGrant(ctx, &pb.LeaseGrantRequest{TTL: seconds})
	if err != nil {
		return 0, 0, noEffect(explain(clientv3.ContextError(ctx, err)))
	}
	return clientv3.LeaseID(r.ID), r.TTL, nil
}

// keepAlive restarts the time of a session and returns from when on it lasts. The error is errSession if the session
// has ended.
//
// The leader keeps etcd leases alive from its memory, without asking the others. An old leader that was paused and does
// not know yet that another was elected still confirms keepalives, and the session ends all the same. So a confirmation
// counts only if its term is still the current one when, afterwards, a majority answers that the session exists. Nobody
// relies on more than that: should the session end nevertheless, it ends after this read, and a client that finds it
// gone gives its locks their grace from then on.
func (e *Engine) keepAlive(ctx context.Context, s *session) (from driver.Instant, lasts time.Duration, err error) {
	ctx, end, err := e.withTimeout(ctx)
	if err != nil {
		return from, 0, err
	}
	defer end()
	from = driver.Now()
	r, err := e.sendKeepalive(ctx, s.id)
	switch {
	case errors.Is(err, rpctypes.ErrLeaseNotFound) || err == nil && r.TTL <= 0:
		return from, 0, errSession
	case err != nil:
		return from, 0, noEffect(explain(err))
	}
	confirmed, err := e.read(ctx, &pb.RangeRequest{Key: []byte(s.key), CountOnly: true})
	switch {
	case err != nil:
		return from, 0, err
	case confirmed.Count == 0:
		return from, 0, errSession
	case !inOneTerm(r.Header, confirmed.Header):
		return from, 0, errOldLeader
	}
	return from, validity(min(s.seconds, r.TTL)), nil
}

// inOneTerm reports whether both answers come from the same term, and so from the same leader.
func inOneTerm(a, b *pb.ResponseHeader) bool { return a.GetRaftTerm() == b.GetRaftTerm() }

func (e *Engine) sendKeepalive(
	ctx context.Context, id clientv3.LeaseID,
) (r *pb.LeaseKeepAliveResponse, err error) {
	err = e.login.withToken(ctx, func() (err error) {
		r, err = e.sendOneKeepalive(ctx, id)
		return err
	})
	return r, err
}

func (e *Engine) sendOneKeepalive(ctx context.Context, id clientv3.LeaseID) (*pb.LeaseKeepAliveResponse, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel() // ends the stream
	stream, err := e.leaseClient.LeaseKeepAlive(ctx)
	if err != nil {
		return nil, clientv3.ContextError(ctx, err)
	}
	if err := stream.Send(&pb.LeaseKeepAliveRequest{ID: int64(id)}); err != nil {
		return nil, clientv3.ContextError(ctx, err)
	}
	r, err := stream.Recv()
	return r, clientv3.ContextError(ctx, err)
}
