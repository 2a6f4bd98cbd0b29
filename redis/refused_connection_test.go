package redis_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/internal/redisserver"
	"github.com/leasehold-go/leasehold/redis"
)

// A server that refuses new connections, here because the password was changed, is said to do so in each request,
// however many of them the client sends together.
func TestRefusedConnections(t *testing.T) {
	t.Parallel()
	s := redisserver.ForTest(t, redisserver.Config{})
	for _, opts := range [][]redis.Option{nil, {redis.WithReplicas(1, time.Second)}} {
		command(t, s, "ACL", "SETUSER", "anna", "on", "resetpass", ">old", "~*", "&*", "+@all")
		e := unguarded(t, func(t *testing.T) goredis.UniversalClient {
			return closed(t, goredis.NewClient(&goredis.Options{Addr: s.Addr(), Username: "anna", Password: "old",
				MaxRetries: -1, DialerRetries: 1, ContextTimeoutEnabled: true}))
		}, opts...)
		_ = e.Release(t.Context(), driver.Release{Hold: hold(shared(lock("first")))}) // the server is known
		command(t, s, "ACL", "SETUSER", "anna", "resetpass", ">new")
		command(t, s, "CLIENT", "KILL", "USER", "anna")

		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		var all sync.WaitGroup
		check := func(what string, f func(driver.Request) error) {
			for i := range 16 {
				all.Go(func() {
					err := f(shared(lasting(fmt.Sprint(what, i), time.Minute)))
					if err == nil || !strings.Contains(err.Error(), "WRONGPASS") || !driver.IsPermanent(err) {
						t.Errorf("%s with %d options: %v, want a permanent WRONGPASS", what, len(opts), err)
					}
				})
			}
		}
		check("take", func(r driver.Request) error {
			_, err := e.Take(ctx, r)
			return err
		})
		check("release", func(r driver.Request) error { return e.Release(ctx, driver.Release{Hold: hold(r)}) })
		check("renew", func(r driver.Request) error { return renewOne(ctx, e, hold(r), time.Minute) })
		all.Wait()
	}
}
