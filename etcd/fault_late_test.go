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

// slowSender sends transactions, but holds one back until the test asks for it. The caller of that one only learns that
// it was sent.
type slowSender struct {
	keepsNext atomic.Bool
	deliver   func(context.Context) (*pb.TxnResponse, error) // set when the caller has given up
}

func (s *slowSender) intercept(
	ctx context.Context, method string, req, reply any, cc *grpc.ClientConn, send grpc.UnaryInvoker,
	opts ...grpc.CallOption,
) error {
	if !strings.HasSuffix(method, "/Txn") || !s.keepsNext.Swap(false) {
		return send(ctx, method, req, reply, cc, opts...)
	}
	etcd.ReportSent(opts)
	<-ctx.Done()
	s.deliver = func(ctx context.Context) (*pb.TxnResponse, error) {
		r := new(pb.TxnResponse)
		return r, send(ctx, method, req, r, cc)
	}
	return ctx.Err()
}

// A take that arrives after the engine has forgotten it leaves a key that nobody knows of. The key ends with its
// session, although the process has other locks: those move to another session, and are not lost.
func TestLateTakeDoesNotStay(t *testing.T) {
	t.Parallel()
	s := etcdserver.ForTest(t, fastConfig)
	var sender slowSender
	slow := []grpc.DialOption{grpc.WithChainUnaryInterceptor(sender.intercept)}
	client := connect(t, clientv3.Config{DialOptions: slow}, s.Addr())
	a, err := etcd.New(client)
	must(t, err)
	defer func() { must(t, a.Close()) }()
	etcd.SetLateRequestTime(a, 50*time.Millisecond)
	r, other := newRequest("name"), newRequest("other")
	r.TTL, other.TTL = 2*time.Second, 2*time.Second // both on one session
	held := mustTake(t, a, other)

	sender.keepsNext.Store(true)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := a.Take(ctx, r); !errors.Is(err, context.DeadlineExceeded) || driver.HadNoEffect(err) {
		t.Fatalf("Take without an answer: %v", err)
	}
	if err := a.Release(t.Context(), driver.Release{Hold: holdOf(r)}); !errors.Is(err, driver.ErrNotHeld) {
		t.Fatalf("Release of what has not come: %v", err)
	}
	eventually(t, "the engine has forgotten it", func() bool {
		mustRenew(t, a, other)
		return !etcd.IsTracked(a, r)
	})
	late, err := sender.deliver(t.Context())
	if err != nil || !late.Succeeded {
		t.Fatalf("the late request: %v, %v", late, err)
	}

	b := engineOn(t, s.Addr())
	if _, err := b.Take(t.Context(), newRequest("name")); !errors.Is(err, driver.ErrHeld) {
		t.Fatalf("Take of what the late request has taken: %v", err)
	}
	eventually(t, "the name is free", func() bool {
		mustRenew(t, a, other)
		_, err := b.Take(t.Context(), newRequest("name"))
		return err == nil
	})
	if created, _, _ := keyOf(t, client, other); created != int64(held.Token) {
		t.Errorf("the other lock was granted with token %d, and now its key is of %d", held.Token, created)
	}
}
