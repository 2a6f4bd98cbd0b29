package redis_test

import (
	"context"
	"fmt"
	"testing"
	"time"
	"sync"
	"crypto/rand"

	goredis "github.com/redis/go-redis/v9"

	"github.com/leasehold-go/leasehold"
	"github.com/leasehold-go/leasehold/redis"
)

const rel = "if redis.call('GET',KEYS[1])==ARGV[1] then return redis.call('DEL',KEYS[1]) end return 0"

func floor1(c goredis.UniversalClient, sha, name string) {
	v := rand.Text()
	ctx := context.Background()
	if ok, err := c.SetNX(ctx, name, v, 30*time.Second).Result(); !ok || err != nil { panic(fmt.Sprint(ok, err)) }
	if err := c.EvalSha(ctx, sha, []string{name}, v).Err(); err != nil { panic(err) }
}

func TestQuick(t *testing.T) {
	ctx := context.Background()
	c := goredis.NewClient(&goredis.Options{Addr: "127.0.0.1:7999"})
	sha := c.ScriptLoad(ctx, rel).Val()
	e, _ := redis.New(c, redis.WithoutFailoverGuard())
	defer e.Close()
	l := leasehold.New(e)
	defer l.Close()
	m := l.Mutex("quick")
	our := func() { x, err := m.Lock(ctx); if err != nil { panic(err) }; if err := x.Release(); err != nil { panic(err) } }
	for round := range 6 {
		n := 8000
		t0 := time.Now()
		for range n { floor1(c, sha, "lock:fl") }
		f := time.Since(t0)
		t0 = time.Now()
		for range n { our() }
		o := time.Since(t0)
		fmt.Println(round, f/time.Duration(n), o/time.Duration(n), float64(o)/float64(f))
	}
	for _, ap := range []bool{false, true} {
		var u goredis.UniversalClient = goredis.NewClient(&goredis.Options{Addr: "127.0.0.1:7999", PoolSize: 256})
		if ap { u, _ = u.AutoPipeline() }
		e2, _ := redis.New(u, redis.WithoutFailoverGuard())
		l2 := leasehold.New(e2)
		run := func(f func(g int)) float64 {
			var wg sync.WaitGroup
			t0 := time.Now()
			n := 300
			for g := range 256 { wg.Go(func() { for range n { f(g) } }) }
			wg.Wait()
			return float64(256*n)/time.Since(t0).Seconds()
		}
		ms := make([]*leasehold.Mutex, 256); names := make([]string, 256)
		for i := range ms { names[i] = fmt.Sprint("lock:f", i); ms[i] = l2.Mutex(fmt.Sprint("d", i)) }
		for range 3 {
			f := run(func(g int) { floor1(u, sha, names[g]) })
			o := run(func(g int) { x, err := ms[g].Lock(ctx); if err != nil { panic(err) }; x.Release() })
			fmt.Printf("ap=%v floor %.0f ours %.0f ratio %.2f\n", ap, f, o, o/f)
		}
		l2.Close(); e2.Close(); u.Close()
	}
}
