package etcd

import (
	"context"
	"math"
	"sync/atomic"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/peer"

	"github.com/leasehold-go/leasehold/driver"
)

// Requests bypass the methods of the etcd client: those copy their parts, and the one that keeps a lease alive repeats
// a failed request without a pause. The requests use the client's connection, and so its user and its endpoints.

// anySize accepts answers of any size, as the client does.
var anySize = grpc.MaxCallRecvMsgSize(math.MaxInt32)

// txn sends one transaction.
func (e *Engine) txn(
	ctx context.Context, cmps []*pb.Compare, then, otherwise []*pb.RequestOp,
) (*pb.TxnResponse, error) {
	ctx, end, err := e.withTimeout(ctx)
	if err != nil {
		return nil, err
	}
	defer end()
	var dest destination
	r := &pb.TxnRequest{Compare: cmps, Success: then, Failure: otherwise}
	t, err := e.kv.Txn(untimed{ctx}, r, anySize, dest.peerOption(), dest.finishOption())
	needs := func() []need { return needsFor(cmps, then, otherwise) }
	return t, e.explainMissingRight(ctx, dest.writeError(ctx, err), needs)
}

// destination records where a writing request was sent. gRPC reports the peer, if there was a connection, and that the
// request has ended. Without that second report, an interceptor of the caller's may have kept gRPC from seeing the
// options.
type destination struct {
	to    peer.Peer
	ended atomic.Bool
}

func (dest *destination) peerOption() grpc.CallOption { return grpc.Peer(&dest.to) }

func (dest *destination) finishOption() grpc.CallOption {
	return grpc.OnFinish(func(error) { dest.ended.Store(true) })
}

// writeError explains the error of a writing request. A request without a peer has not left this process and never
// will: no member could be reached in time.
func (dest *destination) writeError(ctx context.Context, err error) error {
	err = explain(clientv3.ContextError(ctx, err))
	if dest.ended.Load() && dest.to.Addr == nil {
		err = noEffect(err)
	}
	return err
}

// read sends a request that only reads.
func (e *Engine) read(ctx context.Context, r *pb.RangeRequest) (*pb.RangeResponse, error) {
	ctx, end, err := e.withTimeout(ctx)
	if err != nil {
		return nil, err
	}
	defer end()
	a, err := e.kv.Range(untimed{ctx}, r, anySize)
	err = noEffect(explain(clientv3.ContextError(ctx, err)))
	needs := func() []need { return []need{{false, string(r.Key), string(r.RangeEnd)}} }
	return a, e.explainMissingRight(ctx, err, needs)
}

// deleteKey removes one key and returns how many there were.
func (e *Engine) deleteKey(ctx context.Context, path string) (int64, error) {
	ctx, end, err := e.withTimeout(ctx)
	if err != nil {
		return 0, err
	}
	defer end()
	var dest destination
	r := &pb.DeleteRangeRequest{Key: []byte(path)}
	d, err := e.kv.DeleteRange(untimed{ctx}, r, dest.peerOption(), dest.finishOption())
	needs := func() []need { return []need{{true, path, ""}} }
	return d.GetDeleted(), e.explainMissingRight(ctx, dest.writeError(ctx, err), needs)
}

// fetchQueue reads the queue of a name as it is now: the majority confirms that nothing newer was written before.
func (e *Engine) fetchQueue(ctx context.Context, key driver.Key) (q queue, revision int64, err error) {
	kr := e.entryRange(key)
	r, err := e.read(ctx, &pb.RangeRequest{Key: []byte(kr.from), RangeEnd: []byte(kr.to)})
	if err != nil {
		return nil, 0, err
	}
	return readQueue(r.Kvs), r.Header.Revision, nil
}

// fetchQueue reads the queue up to the owner's entry, if that is known: what comes later is in nobody's way. If the
// queue is known to have been at a revision, the member that is asked answers by itself, unless it is not so far yet.
// What it says may be old, but the entries that were holders' then are so until they are removed.
func (w *waiter) fetchQueue(ctx context.Context, since int64) (q queue, revision int64, err error) {
	r := &pb.RangeRequest{
		Key: []byte(w.from), RangeEnd: []byte(w.to), Serializable: since > 0,
		MaxCreateRevision: w.e.ownedKeys.createdRevision(w.owned),
	}
	a, err := w.e.read(ctx, r)
	if err == nil && a.Header.Revision < since {
		r.Serializable = false
		a, err = w.e.read(ctx, r)
	}
	if err != nil {
		return nil, 0, err
	}
	return readQueue(a.Kvs), a.Header.Revision, nil
}

// withTimeout limits a request, unless its context ends earlier anyway. Call the returned function when the request has
// ended.
func (e *Engine) withTimeout(ctx context.Context) (context.Context, func(), error) {
	switch {
	case e.ctx.Err() != nil:
		return nil, nil, errClosed
	case ctx.Err() != nil:
		return nil, nil, notSent(ctx)
	}
	if deadline, ok := ctx.Deadline(); ok && time.Until(deadline) <= e.requestTimeout {
		return ctx, func() { e.connections.noteRequestEnd(ctx) }, nil
	}
	ctx, cancel := context.WithTimeout(ctx, e.requestTimeout)
	return ctx, func() {
		e.connections.noteRequestEnd(ctx)
		cancel()
	}, nil
}

// untimed is a context that ends at its deadline and does not tell it, so that the server does not hear of it either. A
// server that sets a timer for each request has more to do, and gives up after some seconds anyway.
type untimed struct{ context.Context }

// Deadline implements context.Context.
func (untimed) Deadline() (time.Time, bool) { return time.Time{}, false }

// The operations of transactions.

func ops(some ...*pb.RequestOp) []*pb.RequestOp { return some }

func opPut(path string, rec record, lease clientv3.LeaseID) *pb.RequestOp {
	return opPutValue(path, rec.encode(), lease)
}

// opSession puts the key of a session.
func opSession(s *session) *pb.RequestOp { return opPutValue(s.key, nil, s.id) }

// opPutValue puts a key. Without an etcd lease (0) it stays until it is removed.
func opPutValue(path string, value []byte, lease clientv3.LeaseID) *pb.RequestOp {
	put := &pb.PutRequest{Key: []byte(path), Value: value, Lease: int64(lease)}
	return &pb.RequestOp{Request: &pb.RequestOp_RequestPut{RequestPut: put}}
}

func opDelete(path string) *pb.RequestOp {
	removal := &pb.DeleteRangeRequest{Key: []byte(path)}
	return &pb.RequestOp{Request: &pb.RequestOp_RequestDeleteRange{RequestDeleteRange: removal}}
}

func opRange(kr keyRange) *pb.RequestOp {
	read := &pb.RangeRequest{Key: []byte(kr.from), RangeEnd: []byte(kr.to)}
	return &pb.RequestOp{Request: &pb.RequestOp_RequestRange{RequestRange: read}}
}

// opKey reads one key with its value: without the value, servers from 3.7 on do not report the key's etcd lease.
func opKey(path string) *pb.RequestOp {
	return &pb.RequestOp{Request: &pb.RequestOp_RequestRange{RequestRange: &pb.RangeRequest{Key: []byte(path)}}}
}

func opTxn(cmps []*pb.Compare, then, otherwise []*pb.RequestOp) *pb.RequestOp {
	inner := &pb.TxnRequest{Compare: cmps, Success: then, Failure: otherwise}
	return &pb.RequestOp{Request: &pb.RequestOp_RequestTxn{RequestTxn: inner}}
}
