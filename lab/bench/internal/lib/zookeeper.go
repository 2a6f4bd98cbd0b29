package lib

import (
	"context"
	"net"
	"sync"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/leasehold-go/leasehold/lab/bench/internal/servers"
)

// ZKRecipe is the lock that comes with the client of ZooKeeper. Its waiters queue, and each watches
// the one before it.
var ZKRecipe = Library{
	Name:   "zk recipe",
	Module: "github.com/go-zookeeper/zk",
	On:     servers.OneZooKeeper,
	Config: "zk.NewLock; " + zkClient,
	Open:   openZKRecipe,
}

const (
	// How configurations call the client of ZooKeeper.
	zkClient = "ZooKeeper's client"

	// zkSession is the longest timeout of a session that a server allows by default.
	zkSession = 40 * time.Second
)

type zkRecipe struct {
	conn      *zk.Conn
	abandoned sync.WaitGroup // locks whose callers have stopped waiting
}

func openZKRecipe(at Config) (Session, error) {
	dial := func(network, addr string, limit time.Duration) (net.Conn, error) {
		ctx, cancel := context.WithTimeout(context.Background(), limit)
		defer cancel()
		return zkDial(at)(ctx, network, addr)
	}
	c, _, err := zk.Connect(at.Addrs, zkSession, zk.WithDialer(dial), zk.WithLogger(noLog{}), zk.WithLogInfo(false))
	if err != nil {
		return nil, err
	}
	return &zkRecipe{conn: c}, nil
}

// zkDial opens connections and counts their requests.
func zkDial(at Config) func(ctx context.Context, network, addr string) (net.Conn, error) {
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := new(net.Dialer).DialContext(ctx, network, addr)
		if err == nil && at.Sent != nil {
			conn = at.Sent.ZooKeeper(conn)
		}
		return conn, err
	}
}

// noLog discards log messages.
type noLog struct{}

func (noLog) Printf(string, ...any) {}

// Lock waits no longer than ctx, which the recipe does not support: a later grant is released at
// once.
func (s *zkRecipe) Lock(ctx context.Context, name string) (Held, error) {
	l := zk.NewLock(s.conn, "/"+name, zk.WorldACL(zk.PermAll))
	if ctx.Done() == nil {
		return Held{Release: l.Unlock}, l.Lock()
	}
	locked := make(chan error, 1)
	s.abandoned.Go(func() { locked <- l.Lock() })
	select {
	case err := <-locked:
		return Held{Release: l.Unlock}, err
	case <-ctx.Done():
		s.abandoned.Go(func() {
			if <-locked == nil {
				_ = l.Unlock() // the session will end soon
			}
		})
		return Held{}, ctx.Err()
	}
}

func (s *zkRecipe) Close() error {
	s.conn.Close()
	s.abandoned.Wait()
	return nil
}
