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

// Requests are made by hand: the methods of the client copy their parts, and the one that keeps a lease alive repeats a request that fails,
// without a pause. They go over its connection, and so with its user, to its endpoints.

// answers of any size are taken, as the client does.
var anySize = grpc.MaxCallRecvMsgSize(math.MaxInt32)

// txn sends one transaction.
func (e *Engine) txn(ctx context.Context, cmps []*pb.Compare, then, otherwise []*pb.RequestOp) (*pb.TxnResponse, error) {
	ctx, over, err := e.bounded(ctx)
	if err != nil {
		return nil, err
	}
	defer over()
	var way route
	t, err := e.kv.Txn(ctx, &pb.TxnRequest{Compare: cmps, Success: then, Failure: otherwise}, anySize, way.peer(), way.end())
	return t, e.lacking(ctx, way.written(ctx, err), func() []need { return needsOf(cmps, then, otherwise) })
}

// route is where a request that writes has gone. gRPC tells to whom, if there was a connection for it, and that it has ended: without that, an
// interceptor of the caller's may have kept from gRPC that it is asked.
type route struct {
	to    peer.Peer
	ended atomic.Bool
}

func (r *route) peer() grpc.CallOption { return grpc.Peer(&r.to) }

func (r *route) end() grpc.CallOption { return grpc.OnFinish(func(error) { r.ended.Store(true) }) }

// written explains the error of a request that writes. One that went to nobody has not left this process, and never will: no member could be reached in
// its time.
func (r *route) written(ctx context.Context, err error) error {
	err = explain(clientv3.ContextError(ctx, err))
	if r.ended.Load() && r.to.Addr == nil {
		err = noEffect(err)
	}
	return err
}

// read sends a request that only reads.
func (e *Engine) read(ctx context.Context, r *pb.RangeRequest) (*pb.RangeResponse, error) {
	ctx, over, err := e.bounded(ctx)
	if err != nil {
		return nil, err
	}
	defer over()
	a, err := e.kv.Range(ctx, r, anySize)
	err = noEffect(explain(clientv3.ContextError(ctx, err)))
	return a, e.lacking(ctx, err, func() []need { return []need{{false, string(r.Key), string(r.RangeEnd)}} })
}

// deletes sends the removal of one key, and returns how many there were.
func (e *Engine) deletes(ctx context.Context, path string) (int64, error) {
	ctx, over, err := e.bounded(ctx)
	if err != nil {
		return 0, err
	}
	defer over()
	var way route
	d, err := e.kv.DeleteRange(ctx, &pb.DeleteRangeRequest{Key: []byte(path)}, way.peer(), way.end())
	return d.GetDeleted(), e.lacking(ctx, way.written(ctx, err), func() []need { return []need{{true, path, ""}} })
}

// look reads the places of a name, as they are now: the majority has confirmed that nothing newer was written before.
func (e *Engine) look(ctx context.Context, key driver.Key) (l line, revision int64, err error) {
	s := e.places(key)
	r, err := e.read(ctx, &pb.RangeRequest{Key: []byte(s.from), RangeEnd: []byte(s.to)})
	if err != nil {
		return nil, 0, err
	}
	return readLine(r.Kvs), r.Header.Revision, nil
}

// bounded gives a request its limit, unless it ends earlier anyway. The function that it returns is called when the request is over.
func (e *Engine) bounded(ctx context.Context) (context.Context, func(), error) {
	switch {
	case e.life.Err() != nil:
		return nil, nil, errClosed
	case ctx.Err() != nil:
		return nil, nil, unsent(ctx)
	}
	if deadline, ok := ctx.Deadline(); ok && time.Until(deadline) <= e.limit {
		return ctx, func() { e.wires.unanswered(ctx) }, nil
	}
	ctx, cancel := context.WithTimeout(ctx, e.limit)
	return ctx, func() {
		e.wires.unanswered(ctx)
		cancel()
	}, nil
}

// The parts of a transaction.

func ops(some ...*pb.RequestOp) []*pb.RequestOp { return some }

func opPut(path string, c card, lease clientv3.LeaseID) *pb.RequestOp {
	return &pb.RequestOp{Request: &pb.RequestOp_RequestPut{RequestPut: &pb.PutRequest{Key: []byte(path), Value: c.bytes(), Lease: int64(lease)}}}
}

// opSession puts the key of a session there.
func opSession(s *session) *pb.RequestOp {
	return &pb.RequestOp{Request: &pb.RequestOp_RequestPut{RequestPut: &pb.PutRequest{Key: []byte(s.key), Lease: int64(s.id)}}}
}

func opDelete(path string) *pb.RequestOp {
	return &pb.RequestOp{Request: &pb.RequestOp_RequestDeleteRange{RequestDeleteRange: &pb.DeleteRangeRequest{Key: []byte(path)}}}
}

func opRange(s span) *pb.RequestOp {
	return &pb.RequestOp{Request: &pb.RequestOp_RequestRange{RequestRange: &pb.RangeRequest{Key: []byte(s.from), RangeEnd: []byte(s.to)}}}
}

// opKey reads one key, with its value: without it, servers from 3.7 on do not tell the lease that it is on.
func opKey(path string) *pb.RequestOp {
	return &pb.RequestOp{Request: &pb.RequestOp_RequestRange{RequestRange: &pb.RangeRequest{Key: []byte(path)}}}
}

func opTxn(cmps []*pb.Compare, then, otherwise []*pb.RequestOp) *pb.RequestOp {
	return &pb.RequestOp{Request: &pb.RequestOp_RequestTxn{RequestTxn: &pb.TxnRequest{Compare: cmps, Success: then, Failure: otherwise}}}
}
