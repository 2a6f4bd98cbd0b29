package lib

import (
	"context"
	"errors"
	"sync"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/concurrency"
	"go.uber.org/zap"
	"google.golang.org/grpc"

	"github.com/leasehold-go/leasehold/lab/bench/internal/servers"
	"github.com/leasehold-go/leasehold/lab/bench/internal/wire"
)

// Etcd is the package concurrency of etcd's own client. Its waiters queue, and each watches the one
// before it.
var Etcd = Library{
	Name:   "etcd",
	Module: "go.etcd.io/etcd/client/v3",
	On:     servers.OneEtcd,
	Config: "package concurrency: NewMutex; defaults (60 s, kept alive); a session for each goroutine that locks; " +
		etcdClient,
	Open: openEtcd,
}

// How configurations call the client of etcd.
const etcdClient = "etcd's client"

// etcdClientTo returns a client to the servers.
func etcdClientTo(at Config) (*clientv3.Client, error) {
	config := clientv3.Config{Endpoints: at.Addrs, Logger: zap.NewNop()}
	if at.Sent != nil {
		config.DialOptions = countedDialOptions(at.Sent)
	}
	return clientv3.New(config)
}

type etcdSession struct {
	client  *clientv3.Client
	options []concurrency.SessionOption

	mu   sync.Mutex
	idle []*concurrency.Session
}

func openEtcd(at Config) (Session, error) {
	c, err := etcdClientTo(at)
	if err != nil {
		return nil, err
	}
	s := &etcdSession{client: c}
	if at.TTL != 0 {
		s.options = append(s.options, concurrency.WithTTL(int(at.TTL/time.Second)))
	}
	return s, nil
}

// session returns an idle session, or a new one: two locks of the same name exclude each other only
// in different sessions.
func (s *etcdSession) session() (*concurrency.Session, error) {
	s.mu.Lock()
	if last := len(s.idle) - 1; last >= 0 {
		one := s.idle[last]
		s.idle = s.idle[:last]
		s.mu.Unlock()
		return one, nil
	}
	s.mu.Unlock()
	return concurrency.NewSession(s.client, s.options...)
}

// Prepare creates the sessions, each of which costs a request.
func (s *etcdSession) Prepare(goroutines int) error {
	for range goroutines {
		one, err := concurrency.NewSession(s.client, s.options...)
		if err != nil {
			return err
		}
		s.putBack(one)
	}
	return nil
}

func (s *etcdSession) putBack(one *concurrency.Session) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.idle = append(s.idle, one)
}

func (s *etcdSession) Lock(ctx context.Context, name string) (Held, error) {
	one, err := s.session()
	if err != nil {
		return Held{}, err
	}
	m := concurrency.NewMutex(one, name)
	if err := m.Lock(ctx); err != nil {
		// The fate of its key is not known, so this session must not lock the name again.
		one.Orphan()
		return Held{}, err
	}
	return Held{
		Token: uint64(m.Header().GetRevision()), // each grant follows the deletion of the key before it
		Release: func() error {
			defer s.putBack(one)
			return m.Unlock(ctx)
		},
	}, nil
}

func (s *etcdSession) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	// Leases expire by themselves; revoking a thousand of them takes a while.
	for _, one := range s.idle {
		one.Orphan()
	}
	if err := s.client.Close(); err != nil && !errors.Is(err, context.Canceled) {
		return err
	}
	return nil
}

// countedDialOptions lets a client count the messages that it sends.
func countedDialOptions(sent *wire.Counter) []grpc.DialOption {
	return []grpc.DialOption{
		grpc.WithChainUnaryInterceptor(func(ctx context.Context, method string, request, reply any, c *grpc.ClientConn,
			call grpc.UnaryInvoker, options ...grpc.CallOption) error {
			sent.Add(1)
			return call(ctx, method, request, reply, c, options...)
		}),
		grpc.WithChainStreamInterceptor(func(ctx context.Context, d *grpc.StreamDesc, c *grpc.ClientConn, method string,
			open grpc.Streamer, options ...grpc.CallOption) (grpc.ClientStream, error) {
			stream, err := open(ctx, d, c, method, options...)
			return countedStream{stream, sent}, err
		}),
	}
}

type countedStream struct {
	grpc.ClientStream
	sent *wire.Counter
}

func (s countedStream) SendMsg(m any) error {
	s.sent.Add(1)
	return s.ClientStream.SendMsg(m)
}
