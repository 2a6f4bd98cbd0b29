package etcd

import (
	"context"
	"errors"
	"net"
	"sync"
	"sync/atomic"
	"testing"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
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
	next      int64                                                         // the session that is granted next; 0 if all are called 7
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
		return &pb.RangeResponse{Header: f.header()}, nil
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
	f.mu.Lock()
	writes := f.writes
	f.mu.Unlock()
	if writes == nil {
		return nil, errUnasked
	}
	return writes(r) // which may take its time
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
	if f.next > 0 {
		a.ID = f.next
		f.next++
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
