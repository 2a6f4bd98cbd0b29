package redis_test

import (
	"context"
	"fmt"
	"testing"
	"time"
	"crypto/rand"
	"os"
	"runtime/pprof"

	goredis "github.com/redis/go-redis/v9"

	"github.com/leasehold-go/leasehold"
	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/redis"
)

func TestLevels(t *testing.T) {
	ctx := context.Background()
	c := goredis.NewClient(&goredis.Options{Addr: "127.0.0.1:7999"})
	sha := c.ScriptLoad(ctx, rel).Val()
	e, _ := redis.New(c, redis.WithoutFailoverGuard())
	defer e.Close()
	l := leasehold.New(e)
	defer l.Close()
	m := l.Mutex("quick")
	our := func() { x, err := m.Lock(ctx); if err != nil { panic(err) }; if err := x.Release(); err != nil { panic(err) } }
	k := driver.Key{Kind: driver.Lock, Name: "quick2"}
	eng := func() {
		o := rand.Text()
		if _, err := e.Take(ctx, driver.Request{Key: k, Owner: o, Size: 1, Weight: 1, TTL: 30*time.Second, Tokens: 1, Join: true, Holder: "host:1234"}); err != nil { panic(err) }
		if err := e.Release(ctx, driver.Release{Hold: driver.Hold{Key: k, Owner: o}}); err != nil { panic(err) }
	}
	if f := os.Getenv("PROF"); f != "" {
		w, _ := os.Create(f)
		pprof.StartCPUProfile(w)
		for range 40000 { our() }
		pprof.StopCPUProfile()
		return
	}
	var fs, es, os []time.Duration
	for range 10 {
		n := 3000
		t0 := time.Now()
		for range n { floor1(c, sha, "lock:fl") }
		fs = append(fs, time.Since(t0)/time.Duration(n))
		t0 = time.Now()
		for range n { eng() }
		es = append(es, time.Since(t0)/time.Duration(n))
		t0 = time.Now()
		for range n { our() }
		os = append(os, time.Since(t0)/time.Duration(n))
	}
	fmt.Println(fs, es, os)
}
