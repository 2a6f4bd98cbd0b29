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

// fake answers like a cluster, as a test tells it to.
type fake struct {
	pb.KVClient
	pb.LeaseClient
	clientv3.Watcher

	dropsCallOptions bool        // the options of calls do not arrive
	unreachable      atomic.Bool // requests find no connection

	mu          sync.Mutex
	term        uint64 // of answers to reads
	written     int64  // revisions since the start
	lastSession int64  // the last session that was granted
	nextBase    int64  // the base of the next session; 0 makes 7 the ID of all sessions and bases
	goneSession string // the key of a session that has ended

	keepalives func() (*pb.LeaseKeepAliveResponse, error) // answers keepalives
	// reads answers reads of a queue; nil forbids them.
	reads func(*pb.RangeRequest) *pb.RangeResponse
	// writes answers transactions; nil forbids them.
	writes func(*pb.TxnRequest) (*pb.TxnResponse, error)
	// deletions answers removals of a key; nil forbids them.
	deletions func(*pb.DeleteRangeRequest) (*pb.DeleteRangeResponse, error)

	watch   chan clientv3.WatchResponse // of the newest watch of an entry
	watches chan clientv3.Op            // gets the watches, if not nil
}

// errUnexpectedRequest answers a request that should not have been sent.
var errUnexpectedRequest = errors.New("the test did not expect this request")

func (f *fake) engine(t *testing.T) *Engine {
	e := assemble(config{DefaultPrefix}, f, f, f)
	e.ownedKeys.keyID = waitRequest.Owner
	t.Cleanup(func() { _ = e.Close() })
	return e
}

func (f *fake) header() *pb.ResponseHeader {
	return &pb.ResponseHeader{RaftTerm: f.term, Revision: 5 + f.written}
}

// setRevision makes answers have a later revision.
func (f *fake) setRevision(to int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.written = to - 5
}

func (f *fake) Range(_ context.Context, r *pb.RangeRequest, _ ...grpc.CallOption) (*pb.RangeResponse, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case r.CountOnly:
		return &pb.RangeResponse{Header: f.header(), Count: 1}, nil // the session exists
	case f.reads == nil:
		return nil, errUnexpectedRequest
	}
	a := f.reads(r)
	a.Header = f.header()
	if last := r.MaxCreateRevision; last > 0 {
		a.Kvs = slices.DeleteFunc(a.Kvs, func(kv *mvccpb.KeyValue) bool { return kv.CreateRevision > last })
	}
	return a, nil
}

// reportSent reports to the caller that a request was sent to a member, and has ended.
func reportSent(opts []grpc.CallOption) { reportEnd(opts, new(net.TCPAddr)) }

func reportEnd(opts []grpc.CallOption, to net.Addr) {
	for _, o := range opts {
		switch o := o.(type) {
		case grpc.PeerCallOption:
			o.PeerAddr.Addr = to
		case grpc.OnFinishCallOption:
			o.OnFinish(nil)
		}
	}
}

func (f *fake) report(opts []grpc.CallOption) {
	switch {
	case f.dropsCallOptions:
	case f.unreachable.Load():
		reportEnd(opts, nil)
	default:
		reportSent(opts)
	}
}

func (f *fake) Txn(_ context.Context, r *pb.TxnRequest, opts ...grpc.CallOption) (*pb.TxnResponse, error) {
	f.report(opts)
	if put := r.GetSuccess()[0].GetRequestPut(); strings.HasPrefix(string(put.GetKey()), DefaultPrefix+"session/") {
		return &pb.TxnResponse{Succeeded: true, Header: f.header()}, nil
	}
	f.mu.Lock()
	writes := f.writes
	if len(r.Compare) == 0 && readsQueue(r.Success) {
		writes = f.answerReads
	}
	f.mu.Unlock()
	if writes == nil {
		return nil, errUnexpectedRequest
	}
	t, err := writes(r) // it may take a while
	if err == nil {
		f.mu.Lock()
		gone := f.goneSession
		f.mu.Unlock()
		t.Responses = withSessions(r, t.Succeeded, t.Responses, gone)
	}
	return t, err
}

// readsQueue reports whether one of the operations reads the queue of a name.
func readsQueue(ops []*pb.RequestOp) bool {
	return slices.ContainsFunc(ops, func(op *pb.RequestOp) bool { return len(op.GetRequestRange().GetRangeEnd()) > 0 })
}

// answerReads answers a transaction that reads the queue of a name and sessions.
func (f *fake) answerReads(r *pb.TxnRequest) (*pb.TxnResponse, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	t := &pb.TxnResponse{Succeeded: true, Header: f.header()}
	for _, op := range r.Success {
		read := op.GetRequestRange()
		if strings.HasPrefix(string(read.Key), DefaultPrefix+"session/") {
			continue // withSessions adds it
		}
		if f.reads == nil {
			return nil, errUnexpectedRequest
		}
		answer := &pb.ResponseOp_ResponseRange{ResponseRange: f.reads(read)}
		t.Responses = append(t.Responses, &pb.ResponseOp{Response: answer})
	}
	return t, nil
}

// withSessions adds to a test's answers that the requested sessions exist, except the one with the key gone.
func withSessions(r *pb.TxnRequest, succeeded bool, some []*pb.ResponseOp, gone string) []*pb.ResponseOp {
	asked := r.Failure
	if succeeded {
		asked = r.Success
	}
	for i, op := range asked {
		if inner := op.GetRequestTxn(); inner != nil && i < len(some) {
			if t := some[i].GetResponseTxn(); t != nil {
				t.Responses = withSessions(inner, t.Succeeded, t.Responses, gone)
			}
		}
		if key := string(op.GetRequestRange().GetKey()); strings.HasPrefix(key, DefaultPrefix+"session/") {
			there := &pb.RangeResponse{Kvs: []*mvccpb.KeyValue{{Key: []byte(key)}}}
			if key == gone {
				there.Kvs = nil
			}
			answer := &pb.ResponseOp{Response: &pb.ResponseOp_ResponseRange{ResponseRange: there}}
			some = slices.Insert(some, min(i, len(some)), answer)
		}
	}
	return some
}

func (f *fake) DeleteRange(
	_ context.Context, r *pb.DeleteRangeRequest, opts ...grpc.CallOption,
) (*pb.DeleteRangeResponse, error) {
	f.report(opts)
	if f.deletions == nil {
		return nil, errUnexpectedRequest
	}
	return f.deletions(r)
}

func (f *fake) LeaseGrant(
	_ context.Context, r *pb.LeaseGrantRequest, _ ...grpc.CallOption,
) (*pb.LeaseGrantResponse, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	a := &pb.LeaseGrantResponse{ID: 7, TTL: r.TTL}
	switch {
	case f.nextBase > 0 && r.TTL >= baseSeconds(0): // the base of a session
		a.ID = f.nextBase
		f.nextBase++
	case f.nextBase > 0:
		f.lastSession++
		a.ID = 1000 + f.lastSession
	}
	return a, nil
}

func (f *fake) LeaseKeepAlive(
	context.Context, ...grpc.CallOption,
) (grpc.BidiStreamingClient[pb.LeaseKeepAliveRequest, pb.LeaseKeepAliveResponse], error) {
	return keepaliveStream{f: f}, nil
}

// keepaliveStream is the stream of a keepalive.
type keepaliveStream struct {
	grpc.BidiStreamingClient[pb.LeaseKeepAliveRequest, pb.LeaseKeepAliveResponse]
	f *fake
}

func (keepaliveStream) Send(*pb.LeaseKeepAliveRequest) error { return nil }

func (h keepaliveStream) Recv() (*pb.LeaseKeepAliveResponse, error) {
	h.f.mu.Lock()
	defer h.f.mu.Unlock()
	return h.f.keepalives()
}

func (f *fake) Watch(ctx context.Context, key string, opts ...clientv3.OpOption) clientv3.WatchChan {
	if f.watches == nil {
		return nil
	}
	events := make(chan clientv3.WatchResponse)
	if !strings.HasPrefix(key, DefaultPrefix+"session/") {
		f.mu.Lock()
		f.watch = events
		f.mu.Unlock()
	}
	f.watches <- clientv3.OpGet(key, opts...)
	out := make(chan clientv3.WatchResponse)
	go func() {
		defer close(out)
		for {
			select {
			case r, ok := <-events:
				if !ok {
					return
				}
				select {
				case out <- r:
				case <-ctx.Done():
					return
				}
			case <-ctx.Done():
				return
			}
		}
	}()
	return out
}

// send sends something to the newest watch of an entry.
func (f *fake) send(r clientv3.WatchResponse) {
	f.mu.Lock()
	events := f.watch
	f.mu.Unlock()
	events <- r
}

func (f *fake) Close() error { return nil }
