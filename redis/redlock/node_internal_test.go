package redlock

import (
	"context"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/internal/quorumnode"
	"github.com/leasehold-go/leasehold/internal/redisserver"
	"github.com/leasehold-go/leasehold/redis"
)

// An owner that was named in a take before a server was initialized, and again afterwards, is released there,
// whichever request has initialized the server.
func TestReleaseOnAServerThatWasInitializedLate(t *testing.T) {
	t.Parallel()
	takers := map[string]func(*node, context.Context, driver.Request) error{
		"Take": func(n *node, ctx context.Context, r driver.Request) error {
			_, err := n.Take(ctx, r)
			return err
		},
		"StartTake": func(n *node, ctx context.Context, r driver.Request) error {
			outcome := make(chan error, 1)
			n.StartTake(ctx, quorumnode.Request{Request: r}, func(_ driver.Grant, err error) { outcome <- err })
			return <-outcome
		},
	}
	for name, take := range takers {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := redisserver.ProxyForTest(t, redisserver.ForTest(t, redisserver.Config{}).Addr())
			p.Freeze()
			client := goredis.NewClient(&goredis.Options{Addr: p.Addr(), ContextTimeoutEnabled: true})
			defer client.Close()
			each, err := redis.New(client, redis.WithoutFailoverGuard())
			if err != nil {
				t.Fatal(err)
			}
			e := newUninitialized([]*redis.Engine{each}, []string{p.Addr()}, config{timeout: time.Second})
			defer e.Close()
			n := e.nodes[0]
			r := driver.Request{Key: driver.Key{Kind: driver.Lock, Name: "a"}, Owner: "owner", TTL: time.Minute}
			short, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
			defer cancel()
			outcome := make(chan error, 1)
			n.StartTake(short, quorumnode.Request{Request: r}, func(_ driver.Grant, err error) { outcome <- err })
			if err := <-outcome; err == nil {
				t.Fatal("granted by a server that says nothing")
			}
			p.Thaw()
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			if _, err := n.Opens(ctx); err != nil { // which initializes the node
				t.Fatal(err)
			}
			if err := take(n, ctx, r); err != nil {
				t.Fatal(err)
			}
			n.StartRelease(ctx, driver.Release{Hold: driver.Hold{Key: r.Key, Owner: r.Owner}},
				func(err error) { outcome <- err })
			if err := <-outcome; err != nil {
				t.Errorf("release of what is held: %v", err)
			}
			if r.Owner = "another"; take(n, ctx, r) != nil {
				t.Error("the server still has it for an owner that was released")
			}
		})
	}
}
