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

// session says that a process lives: all its places with about the same ttl name it. It is a key on a lease of etcd that is kept alive. So it takes
// no write to renew a lock.
//
// Its end frees nothing, since it may come too early: a member that led, stood still, and does not know yet that it was replaced revokes what was
// kept alive elsewhere meanwhile. Whoever finds it gone puts the places that name it on a lease of their own, see orphans.go, and who is still
// there names another session before that is over.
//
// The places are on a second lease, the base, which nobody keeps alive, so that no member can think that it is over before it is. It is for those
// whom nobody asks for any more, and is left long before it ends.
type session struct {
	seconds int64
	id      clientv3.LeaseID
	key     string // which is there as long as it lasts
	base    clientv3.LeaseID
	born    driver.Instant // a moment not after the one from which the base lasts
	life    time.Duration  // of the base, less what clocks may drift apart
	gone    chan struct{}  // closed when it has ended on the server
	retired atomic.Bool    // nobody else comes to it, and those who are there leave it when they can

	// Guarded by sessions.mu.
	alive   driver.Instant // a moment at which it was there, and not after the one from which the server counts
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

// class returns for how many seconds a session lasts that carries locks of a ttl. Renewals, which come each third of it, keep it alive. It is no
// longer than it must be for that, since who waits for the lock of a dead process waits for its end first. Long ones come in steps of an eighth,
// so that there are few.
func class(ttl time.Duration) int64 {
	const least = 3 * time.Second // shorter ones would end when a machine is busy, or a leader is elected
	ttl = max(ttl/2+time.Second, least)
	s := wholeSeconds(ttl)
	step := int64(1)
	for s/step >= 16 {
		step *= 2
	}
	return (s + step - 1) / step * step
}

// wholeSeconds rounds up.
func wholeSeconds(d time.Duration) int64 { return int64((d + time.Second - 1) / time.Second) }

// slow is how long something lasts at least by another clock: a hundredth less, as clocks may differ by that.
func slow(d time.Duration) time.Duration { return d - d/100 - 2*time.Millisecond }

// lasting is how long a lease of etcd is relied on.
func lasting(seconds int64) time.Duration { return slow(time.Duration(seconds) * time.Second) }

// baseOf returns for how many seconds the base of a session lasts: for so long that locks are rarely moved to another one, and that there is time
// to move many; and for so short that what dead processes have left is not there for hours. Sessions are left when half of it has passed.
func baseOf(seconds int64) int64 {
	const least = 15 * 60
	return max(least, 32*seconds)
}

// worn reports whether a session is to be left.
func (s *session) worn(now driver.Instant) bool { return s.baseLeft(now) < s.life/2 }

// baseLeft returns how long the base surely lasts.
func (s *session) baseLeft(now driver.Instant) time.Duration { return s.life - now.Since(s.born) }

// grant gets a session. What it leaves if it fails is nobody's loss: a lease without a lock on it.
func (e *Engine) grant(ctx context.Context, seconds int64) (*session, error) {
	s := &session{seconds: seconds, born: driver.Now(), life: lasting(baseOf(seconds)), gone: make(chan struct{})}
	s.alive = s.born
	var baseErr error
	var work sync.WaitGroup
	work.Go(func() { s.base, _, baseErr = e.lease(ctx, baseOf(seconds)) })
	id, given, err := e.lease(ctx, seconds)
	work.Wait()
	if err = cmp.Or(err, baseErr); err != nil {
		return nil, err
	}
	s.id, s.key, s.lasts = id, e.keys.session(id), lasting(min(seconds, given))
	if _, err := e.txn(ctx, nil, ops(opSession(s)), nil); err != nil {
		return nil, noEffect(err)
	}
	return s, nil
}

// lease gets a lease of etcd.
func (e *Engine) lease(ctx context.Context, seconds int64) (id clientv3.LeaseID, given int64, err error) {
	ctx, over, err := e.bounded(ctx)
	if err != nil {
		return 0, 0, err
	}
	defer over()
	r, err := e.leases.LeaseGrant(ctx, &pb.LeaseGrantRequest{TTL: seconds})
	if err != nil {
		return 0, 0, noEffect(explain(clientv3.ContextError(ctx, err)))
	}
	return clientv3.LeaseID(r.ID), r.TTL, nil
}

// keepAlive makes a session last its time anew, and returns from when on. It answers errSession if it has ended.
//
// The leader keeps leases alive from its memory, without asking the others. One that does not know yet that another was elected, as it
// stood still or its disk did, still says yes, and the session ends all the same. So that counts only if the term in which it was said has
// not passed when, afterwards, a majority answers that the session is there. That is also all that anybody relies on: should the session end
// nevertheless, then after this read, and whoever finds it gone gives its locks their grace from then on.
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
	confirmed, err := e.read(ctx, &pb.RangeRequest{Key: []byte(s.key), CountOnly: true})
	switch {
	case err != nil:
		return from, 0, err
	case confirmed.Count == 0:
		return from, 0, errSession
	case r.Header.GetRaftTerm() != confirmed.Header.GetRaftTerm():
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
