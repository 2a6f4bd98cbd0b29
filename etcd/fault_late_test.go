package etcd_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/etcd"
	"github.com/leasehold-go/leasehold/internal/etcdserver"
)

// slowPost delivers transactions, one of which it keeps until it is asked for it. Whoever has sent that one only learns that it was on its way.
type slowPost struct {
	keeps   atomic.Bool
	deliver func(context.Context) (*pb.TxnResponse, error) // set when the sender has given up
}

func (p *slowPost) carry(ctx context.Context, method string, req, reply any, cc *grpc.ClientConn, send grpc.UnaryInvoker, opts ...grpc.CallOption) error {
	if !strings.HasSuffix(method, "/Txn") || !p.keeps.Swap(false) {
		return send(ctx, method, req, reply, cc, opts...)
	}
	etcd.Sent(opts)
	<-ctx.Done()
	p.deliver = func(ctx context.Context) (*pb.TxnResponse, error) {
		r := new(pb.TxnResponse)
		return r, send(ctx, method, req, r, cc)
	}
	return ctx.Err()
}

// A take that reaches the cluster when nobody reckons with it any more leaves a key that nobody knows of. It goes with its session, which does not last
// for as long as the process has other locks: those are moved to another one, and are not lost.
func TestWhatComesTooLateDoesNotStay(t *testing.T) {
	t.Parallel()
	s := etcdserver.ForTest(t, quick)
	var post slowPost
	client := connect(t, clientv3.Config{DialOptions: []grpc.DialOption{grpc.WithChainUnaryInterceptor(post.carry)}}, s.Addr())
	a, err := etcd.New(client)
	must(t, err)
	defer func() { must(t, a.Close()) }()
	etcd.SetLateness(a, 50*time.Millisecond)
	r, other := asked("name"), asked("other")
	r.TTL, other.TTL = 2*time.Second, 2*time.Second // which is one session
	held := taken(t, a, other)

	post.keeps.Store(true)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := a.Take(ctx, r); !errors.Is(err, context.DeadlineExceeded) || driver.HadNoEffect(err) {
		t.Fatalf("Take without an answer: %v", err)
	}
	if err := a.Release(t.Context(), driver.Release{Hold: holdOf(r)}); !errors.Is(err, driver.ErrNotHeld) {
		t.Fatalf("Release of what has not come: %v", err)
	}
	eventually(t, "nobody reckons with it", func() bool {
		stillHeld(t, a, other)
		return !etcd.Reckons(a, r)
	})
	late, err := post.deliver(t.Context())
	if err != nil || !late.Succeeded {
		t.Fatalf("the late request: %v, %v", late, err)
	}

	b := engineOn(t, s.Addr())
	if _, err := b.Take(t.Context(), asked("name")); !errors.Is(err, driver.ErrHeld) {
		t.Fatalf("Take of what the late request has taken: %v", err)
	}
	eventually(t, "the name is free", func() bool {
		stillHeld(t, a, other)
		_, err := b.Take(t.Context(), asked("name"))
		return err == nil
	})
	if created, _, _ := keyOf(t, client, other); created != int64(held.Token) {
		t.Errorf("the other lock was granted with token %d, and now its key is of %d", held.Token, created)
	}
}
