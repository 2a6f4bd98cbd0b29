package redisson_test

import (
	"context"
	"fmt"
	"net"
	"sync/atomic"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/internal/redisserver"
	"github.com/leasehold-go/leasehold/redis/redisson"
)

// countTrips counts how often a client waits for a server.
type countTrips struct{ trips atomic.Int64 }

func (c *countTrips) DialHook(next goredis.DialHook) goredis.DialHook { return next }

func (c *countTrips) ProcessHook(next goredis.ProcessHook) goredis.ProcessHook {
	return func(ctx context.Context, cmd goredis.Cmder) error {
		c.trips.Add(1)
		return next(ctx, cmd)
	}
}

func (c *countTrips) ProcessPipelineHook(next goredis.ProcessPipelineHook) goredis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []goredis.Cmder) error {
		c.trips.Add(1)
		return next(ctx, cmds)
	}
}

// A listing searches the server twice, for hashes and for sorted sets, and reads a hundred names at a time.
func TestListingReadsManyNamesAtOnce(t *testing.T) {
	t.Parallel()
	s := redisserver.ForTest(t, redisserver.Config{})
	const names = 1000
	for i := range names {
		_, err := s.Command("HSET", fmt.Sprint("lock", i), javaOwner, "1")
		must(t, err)
	}
	client := goredis.NewClient(&goredis.Options{Addr: s.Addr()})
	defer client.Close()
	e, err := redisson.New(client)
	must(t, err)
	defer e.Close()
	_, err = e.List(t.Context(), driver.Query{Limit: 1}) // the server knows the script then
	must(t, err)
	var count countTrips
	client.AddHook(&count)
	all, err := e.List(t.Context(), driver.Query{})
	must(t, err)
	if len(all) != names {
		t.Errorf("listed %d names, want %d", len(all), names)
	}
	for i := 1; i < len(all); i++ {
		if all[i-1].Key.Compare(all[i].Key) >= 0 {
			t.Fatalf("%v is listed before %v", all[i-1].Key, all[i].Key)
		}
	}
	scans := 2 * (names/500 + 1)
	if got := int(count.trips.Load()); got > scans+names/100 {
		t.Errorf("the client waited %d times for the server, want %d for the search, and %d for the names",
			got, scans, names/100)
	}
}

// A search ends soon after a server stops answering.
func TestListingFromASilentServer(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	defer l.Close()
	e := open(t, func(t *testing.T) goredis.UniversalClient {
		return closed(t, goredis.NewClient(&goredis.Options{
			Addr: l.Addr().String(), ContextTimeoutEnabled: true, ReadTimeout: time.Hour, MaxRetries: -1,
		}))
	})
	begun := time.Now()
	if _, err := e.List(t.Context(), driver.Query{}); err == nil || !driver.HadNoEffect(err) {
		t.Errorf("List: %v", err)
	}
	if took := time.Since(begun); took > 8*time.Second {
		t.Errorf("List took %v", took)
	}
}
