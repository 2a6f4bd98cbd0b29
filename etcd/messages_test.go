package etcd_test

import (
	"context"
	"maps"
	"strings"
	"sync"
	"testing"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc"

	"github.com/leasehold-go/leasehold/etcd"
	"github.com/leasehold-go/leasehold/internal/etcdserver"
)

// messages counts what clients send about locks: the names of requests, and how many of them.
type messages struct {
	mu        sync.Mutex
	sent      map[string]int
	deadlines int // requests that tell theirs
}

func (m *messages) note(what string, ctx context.Context) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.sent[what]++
	if _, some := ctx.Deadline(); some {
		m.deadlines++
	}
}

// takeAll returns what was sent since it was last called.
func (m *messages) takeAll() map[string]int {
	m.mu.Lock()
	defer m.mu.Unlock()
	sent := m.sent
	m.sent = make(map[string]int)
	return sent
}

// options let a client count. What is about sessions does not count.
func (m *messages) options() []grpc.DialOption {
	isOfSession := func(key []byte) bool { return strings.HasPrefix(string(key), etcd.DefaultPrefix+"session/") }
	unary := func(ctx context.Context, method string, request, reply any, c *grpc.ClientConn, send grpc.UnaryInvoker,
		opts ...grpc.CallOption) error {
		switch r := request.(type) {
		case *pb.TxnRequest:
			if len(r.Compare) > 0 { // the others only read, or make sessions
				m.note("transactions", ctx)
			}
		case *pb.DeleteRangeRequest:
			m.note("removals", ctx)
		case *pb.RangeRequest:
			if !isOfSession(r.Key) {
				m.note("reads", ctx)
			}
		}
		return send(ctx, method, request, reply, c, opts...)
	}
	stream := func(ctx context.Context, d *grpc.StreamDesc, c *grpc.ClientConn, method string, open grpc.Streamer,
		opts ...grpc.CallOption) (grpc.ClientStream, error) {
		s, err := open(ctx, d, c, method, opts...)
		return countedStream{s, func(message any) {
			w, _ := message.(*pb.WatchRequest)
			if create := w.GetCreateRequest(); create != nil && !isOfSession(create.Key) {
				m.note("watches", ctx)
			}
		}}, err
	}
	return []grpc.DialOption{grpc.WithChainUnaryInterceptor(unary), grpc.WithChainStreamInterceptor(stream)}
}

type countedStream struct {
	grpc.ClientStream
	note func(message any)
}

func (s countedStream) SendMsg(message any) error {
	s.note(message)
	return s.ClientStream.SendMsg(message)
}

// Who takes turns with others sends three requests for each: it joins, reads the queue when it is woken, and releases.
// Watches go on from turn to turn. A free name takes two requests. None of them tells its deadline.
func TestTurnsSendFewMessages(t *testing.T) {
	t.Parallel()
	s := etcdserver.ForTest(t, fastConfig)
	m := messages{sent: make(map[string]int)}
	var engines []*etcd.Engine
	for range 3 {
		e, err := etcd.New(connect(t, clientv3.Config{DialOptions: m.options()}, s.Addr()))
		must(t, err)
		t.Cleanup(func() { must(t, e.Close()) })
		engines = append(engines, e)
	}
	free := newRequest("free")
	mustTake(t, engines[0], free)
	mustRelease(t, engines[0], free)
	want := map[string]int{"transactions": 1, "removals": 1}
	if sent := m.takeAll(); !maps.Equal(sent, want) {
		t.Errorf("a free name: %v, want %v", sent, want)
	}

	holder := newRequest("name")
	mustTake(t, engines[0], holder)
	var waiting []*waitingCall
	for _, e := range engines[1:] {
		waiting = append(waiting, joinQueue(t, e, newRequest("name")))
	}
	turn := func(i int) {
		e := engines[i%len(engines)]
		mustRelease(t, e, holder)
		waiting[0].mustBeGranted(0)
		holder = waiting[0].request
		waiting = append(waiting[1:], joinQueue(t, e, newRequest("name")))
	}
	const before, turns = 6, 12
	for i := range before {
		turn(i)
	}
	m.takeAll()
	for i := range turns {
		turn(before + i)
	}
	sent := m.takeAll()
	if sent["transactions"] != turns || sent["removals"] != turns || sent["reads"] > turns || sent["watches"] > 0 {
		t.Errorf("%d turns: %v", turns, sent)
	}
	if m.deadlines > 0 {
		t.Errorf("%d requests tell their deadline", m.deadlines)
	}
}
