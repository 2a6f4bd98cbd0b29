package redis

import (
	"context"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/leasehold-go/leasehold/internal/redisserver"
)

// BenchmarkHandOverScripts runs the two scripts of a turn under contention, one that joins a queue of eight and one
// that hands over to its head, without a network round trip for each. It reports the processor time of the server.
func BenchmarkHandOverScripts(b *testing.B) {
	server := redisserver.ForTest(b, redisserver.Config{})
	c := redis.NewClient(&redis.Options{Addr: server.Addr()})
	defer c.Close()
	sub := c.Subscribe(b.Context(), "leasehold:wake:p")
	defer sub.Close()
	if _, err := sub.Receive(b.Context()); err != nil {
		b.Fatal(err)
	}
	go func() {
		for range sub.Channel() { // it must be read
		}
	}()
	set := (&config{prefix: "leasehold:", retention: DefaultTokenRetention}).newScriptSet("identity", false)
	for _, s := range []script{scriptTake, scriptRelease} {
		if err := c.ScriptLoad(b.Context(), set.text[s]).Err(); err != nil {
			b.Fatal(err)
		}
	}
	const key, waiting = "leasehold:{name}", 8
	keys := []string{key, key + ":token", key + ":queue", key + ":holders", key + ":info"}
	owner := func(i int) string { return fmt.Sprintf("owner-that-is-31-bytes-%08d", i) }
	floor := int64(1_700_000_000_000_000)
	join := func(p redis.Pipeliner, i int) {
		floor++
		p.EvalSha(b.Context(), set.sha[scriptTake], keys, owner(i), 30000, 1, floor, "host app pid 4711",
			"x", 1, 1, "P", fmt.Sprintf("%d-0123456789abcdef0123456789abcdef", i+1), "p", "", 0, "")
	}
	for i := range waiting {
		if _, err := c.Pipelined(b.Context(), func(p redis.Pipeliner) error { join(p, i); return nil }); err != nil {
			b.Fatal(err)
		}
	}
	i, before := 0, serverTime(b, c)
	for b.Loop() {
		p := c.Pipeline()
		for range 100 {
			join(p, i+waiting)
			floor++
			p.EvalSha(b.Context(), set.sha[scriptRelease], keys, owner(i), floor, 0, "", "", "")
			i++
		}
		answers, err := p.Exec(b.Context())
		if err != nil {
			b.Fatal(err)
		}
		for n, a := range answers {
			if n%2 == 1 && a.(*redis.Cmd).Val() != int64(1) {
				b.Fatalf("the release answered %v", a)
			}
		}
	}
	b.ReportMetric((serverTime(b, c)-before)/float64(i), "server-µs/turn")
}

// serverTime returns the processor time that a server has used, in µs.
func serverTime(b *testing.B, c *redis.Client) (sum float64) {
	text, err := c.Info(context.Background(), "cpu").Result()
	if err != nil {
		b.Fatal(err)
	}
	for _, m := range regexp.MustCompile(`used_cpu_(?:user|sys):(\S+)`).FindAllStringSubmatch(text, -1) {
		seconds, err := strconv.ParseFloat(strings.TrimSpace(m[1]), 64)
		if err != nil {
			b.Fatal(err)
		}
		sum += seconds * 1e6
	}
	return sum
}
