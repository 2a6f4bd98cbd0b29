package etcd

import (
	"context"
	"errors"
	"net"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc"
)

// fake answers like a cluster that a test has made up.
type fake struct {
	pb.KVClient
	pb.LeaseClient
	clientv3.Watcher

	deaf    bool        // the options of calls do not reach it
	nowhere atomic.Bool // requests find no connection

	mu        sync.Mutex
	term      uint64                                                        // in which a read is answered
	written   int64                                                         // revisions since the start
	ids       int64                                                         // sessions
	next      int64                                                         // the base of the session that is granted next; 0 if all are called 7, as is the session
	alive     func() (*pb.LeaseKeepAliveResponse, error)                    // answers who keeps a session alive
	reads     func(*pb.RangeRequest) *pb.RangeResponse                      // answers who reads places; nil if nobody may
	writes    func(*pb.TxnRequest) (*pb.TxnResponse, error)                 // answers who sends a transaction; nil if nobody may
	deletions func(*pb.DeleteRangeRequest) (*pb.DeleteRangeResponse, error) // answers who removes a key; nil if nobody may
	watch     chan clientv3.WatchResponse
	opened    chan clientv3.Op // the watches, if somebody listens
}

// errUnasked is what a request gets that is one too many.
var errUnasked = errors.New("the test did not expect this request")

func (f *fake) engine(t *testing.T) *Engine {
	e := assemble(config{DefaultPrefix}, f, f, f)
	e.members.id = waited.Owner
	t.Cleanup(func() { _ = e.Close() })
	return e
}

func (f *fake) header() *pb.ResponseHeader {
	return &pb.ResponseHeader{RaftTerm: f.term, Revision: 5 + f.written}
}

// goesOn makes the revision later.
func (f *fake) goesOn(to int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.written = to - 5
}

func (f *fake) Range(_ context.Context, r *pb.RangeRequest, _ ...grpc.CallOption) (*pb.RangeResponse, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case r.CountOnly:
		return &pb.RangeResponse{Header: f.header(), Count: 1}, nil // the session is there
	case f.reads == nil:
		return nil, errUnasked
	}
	a := f.reads(r)
	a.Header = f.header()
	return a, nil
}

// sent tells the caller that a request has gone to a member, and ended.
func sent(opts []grpc.CallOption) { ended(opts, new(net.TCPAddr)) }

func ended(opts []grpc.CallOption, to net.Addr) {
	for _, o := range opts {
		switch o := o.(type) {
		case grpc.PeerCallOption:
			o.PeerAddr.Addr = to
		case grpc.OnFinishCallOption:
			o.OnFinish(nil)
		}
	}
}

func (f *fake) sent(opts []grpc.CallOption) {
	switch {
	case f.deaf:
	case f.nowhere.Load():
		ended(opts, nil)
	default:
		sent(opts)
	}
}

func (f *fake) Txn(_ context.Context, r *pb.TxnRequest, opts ...grpc.CallOption) (*pb.TxnResponse, error) {
	f.sent(opts)
	if put := r.GetSuccess()[0].GetRequestPut(); strings.HasPrefix(string(put.GetKey()), DefaultPrefix+"session/") {
		return &pb.TxnResponse{Succeeded: true, Header: f.header()}, nil
	}
	f.mu.Lock()
	writes := f.writes
	if len(r.Compare) == 0 && readsALine(r.Success) {
		writes = f.looks
	}
	f.mu.Unlock()
	if writes == nil {
		return nil, errUnasked
	}
	t, err := writes(r) // which may take its time
	if err == nil {
		t.Responses = withSessions(r, t.Succeeded, t.Responses)
	}
	return t, err
}

// readsALine reports whether one of some operations reads the places of a name.
func readsALine(ops []*pb.RequestOp) bool {
	return slices.ContainsFunc(ops, func(op *pb.RequestOp) bool { return len(op.GetRequestRange().GetRangeEnd()) > 0 })
}

// looks answers a transaction that reads the places of a name, and sessions.
func (f *fake) looks(r *pb.TxnRequest) (*pb.TxnResponse, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	t := &pb.TxnResponse{Succeeded: true, Header: f.header()}
	for _, op := range r.Success {
		read := op.GetRequestRange()
		if strings.HasPrefix(string(read.Key), DefaultPrefix+"session/") {
			continue // which is added
		}
		if f.reads == nil {
			return nil, errUnasked
		}
		t.Responses = append(t.Responses, &pb.ResponseOp{Response: &pb.ResponseOp_ResponseRange{ResponseRange: f.reads(read)}})
	}
	return t, nil
}

// withSessions adds to what a test answers that the sessions are there which are asked for.
func withSessions(r *pb.TxnRequest, succeeded bool, some []*pb.ResponseOp) []*pb.ResponseOp {
	asked := r.Failure
	if succeeded {
		asked = r.Success
	}
	for i, op := range asked {
		if inner := op.GetRequestTxn(); inner != nil && i < len(some) {
			if t := some[i].GetResponseTxn(); t != nil {
				t.Responses = withSessions(inner, t.Succeeded, t.Responses)
			}
		}
		if key := string(op.GetRequestRange().GetKey()); strings.HasPrefix(key, DefaultPrefix+"session/") {
			there := &pb.RangeResponse{Kvs: []*mvccpb.KeyValue{{Key: []byte(key)}}}
			some = slices.Insert(some, min(i, len(some)), &pb.ResponseOp{Response: &pb.ResponseOp_ResponseRange{ResponseRange: there}})
		}
	}
	return some
}

func (f *fake) DeleteRange(_ context.Context, r *pb.DeleteRangeRequest, opts ...grpc.CallOption) (*pb.DeleteRangeResponse, error) {
	f.sent(opts)
	if f.deletions == nil {
		return nil, errUnasked
	}
	return f.deletions(r)
}

func (f *fake) LeaseGrant(_ context.Context, r *pb.LeaseGrantRequest, _ ...grpc.CallOption) (*pb.LeaseGrantResponse, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	a := &pb.LeaseGrantResponse{ID: 7, TTL: r.TTL}
	switch {
	case f.next > 0 && r.TTL >= baseOf(0): // the base of a session
		a.ID = f.next
		f.next++
	case f.next > 0:
		f.ids++
		a.ID = 1000 + f.ids
	}
	return a, nil
}

func (f *fake) LeaseKeepAlive(context.Context, ...grpc.CallOption) (grpc.BidiStreamingClient[pb.LeaseKeepAliveRequest, pb.LeaseKeepAliveResponse], error) {
	return heart{f: f}, nil
}

// heart is a stream of one that keeps a session alive.
type heart struct {
	grpc.BidiStreamingClient[pb.LeaseKeepAliveRequest, pb.LeaseKeepAliveResponse]
	f *fake
}

func (heart) Send(*pb.LeaseKeepAliveRequest) error { return nil }

func (h heart) Recv() (*pb.LeaseKeepAliveResponse, error) {
	h.f.mu.Lock()
	defer h.f.mu.Unlock()
	return h.f.alive()
}

func (f *fake) Watch(_ context.Context, key string, opts ...clientv3.OpOption) clientv3.WatchChan {
	if f.opened != nil {
		f.opened <- clientv3.OpGet(key, opts...)
	}
	return f.watch
}

func (f *fake) Close() error { return nil }
