package redis_test

import (
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/driver/drivertest"
	"github.com/leasehold-go/leasehold/redis"
)

func TestTmp(t *testing.T) {
	drivertest.Run(t, drivertest.Harness{
		Start: func(t *testing.T) drivertest.Place {
			return drivertest.Place{Open: func(t *testing.T) driver.Engine {
				c := goredis.NewClient(&goredis.Options{Addr: "127.0.0.1:7999"})
				e, err := redis.New(c, redis.WithoutFailoverGuard())
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { e.Close(); c.Close() })
				return e
			}}
		},
		TTL: time.Second,
	})
}
