package redis_test

import (
	"context"
	"crypto/rand"
	"fmt"
	"sync"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"
)

func TestFaces(t *testing.T) {
	ctx := context.Background()
	mk := func() *goredis.Client { return goredis.NewClient(&goredis.Options{Addr: "127.0.0.1:7999", PoolSize: 256}) }
	plain := mk()
	sha := plain.ScriptLoad(ctx, rel).Val()
	ap, _ := mk().AutoPipeline()
	as, _ := mk().AsyncAutoPipeline()
	fd, err := mk().AsyncAutoPipelineWithOptions(&goredis.AutoPipelineOptions{FullDuplex: true, MaxBatchSize: 300, MaxConcurrentBatches: 1})
	if err != nil { t.Fatal(err) }
	sub := func(c *goredis.AutoPipeliner) func(name string) { return func(name string) {
		v := rand.Text()
		k := goredis.NewBoolCmd(ctx, "set", name, v, "px", 30000, "nx")
		if err := c.Submit(ctx, k).WaitContext(ctx); err != nil || !k.Val() { panic(fmt.Sprint(err)) }
		e := goredis.NewCmd(ctx, "evalsha", sha, 1, name, v)
		if err := c.Submit(ctx, e).WaitContext(ctx); err != nil { panic(err) }
	}}
	faces := map[string]func(name string){
		"plain": func(n string) { floor1(plain, sha, n) }, "ap": func(n string) { floor1(ap, sha, n) }, "async": sub(as), "fd": sub(fd),
	}
	for range 3 {
		for _, f := range []string{"plain", "ap", "async", "fd"} {
			fn := faces[f]
			t0 := time.Now()
			for range 4000 { fn("lock:x") }
			one := time.Since(t0)/4000
			var wg sync.WaitGroup
			t0 = time.Now()
			for g := range 256 { wg.Go(func() { n := fmt.Sprint("lock:", g); for range 200 { fn(n) } }) }
			wg.Wait()
			fmt.Printf("%-6s one %v  256: %.0f/s\n", f, one, 256*200/time.Since(t0).Seconds())
		}
	}
}
