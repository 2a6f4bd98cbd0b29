package redis

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/leasehold-go/leasehold/internal/redisserver"
)

// join_queue.lua and release_to_head.lua do the same as the rest of the scripts that they begin. Random requests
// run twice, with these parts and without them, on keys with different prefixes. All answers, all keys and all grants
// that waiters receive must be the same, except for times. The long scripts also look whether the second waiter is
// dead, and then forget it earlier. So where waiters are dead, only the end must be the same: nothing is left.
func TestShortScriptsDoTheSame(t *testing.T) {
	t.Parallel()
	server := redisserver.ForTest(t, redisserver.Config{})
	c := redis.NewClient(&redis.Options{Addr: server.Addr()})
	t.Cleanup(func() { _ = c.Close() })
	short, long := newScriptTester(t, c, "short:", true), newScriptTester(t, c, "long:", false)
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random, handOvers := rand.New(rand.NewPCG(seed, 0)), 0
	shortRuns := func() int64 { // of the script that took the short way less often
		joins, _ := c.Get(t.Context(), "joins").Int64()
		releases, _ := c.Get(t.Context(), "hand-overs").Int64()
		return min(joins, releases)
	}
	for round := 0; round < 120 || shortRuns() < 200 && round < 1000; round++ { // late rounds are cut off
		requests := randomRequests{Rand: random, dead: round%3 == 0}
		began := time.Now()
		for step := range 30 {
			s, args := requests.next(short.holder(t, round))
			got, want := short.run(t, s, round, args), long.run(t, s, round, args)
			if time.Since(began) > time.Second {
				break // leases of this round are about to end
			}
			if got != want && !requests.dead {
				t.Fatalf("round %d, step %d: script %d %q is answered\n%s\nbut by the long script\n%s",
					round, step, s, args, got, want)
			}
		}
		got, want := short.grants(t), long.grants(t)
		if !slices.Equal(got, want) && !requests.dead && time.Since(began) < time.Second {
			t.Errorf("waiters receive the grants %q, but from the long scripts %q", got, want)
		}
		handOvers += len(got)
		if requests.dead {
			short.expectNothingLeft(t, round, requests.owners)
			long.expectNothingLeft(t, round, requests.owners)
		}
	}
	if handOvers < 100 {
		t.Errorf("only %d locks were handed over: most requests should meet under contention", handOvers)
	}
	if n := shortRuns(); n < 200 {
		t.Errorf("%d joins or hand-overs took the short way: hardly any", n)
	}
}

// randomRequests are requests for one name.
type randomRequests struct {
	*rand.Rand
	dead   bool // some waiters are
	owners []string
	floor  int64
}

// one returns one of the words; the first most of the time.
func (r *randomRequests) one(words ...any) any {
	if r.IntN(8) > 0 {
		return words[0]
	}
	return words[r.IntN(len(words))]
}

func (r *randomRequests) next(holder string) (script, []any) {
	r.floor += 10
	n := len(r.owners)
	if n == 0 || r.IntN(2) == 0 {
		r.owners = append(r.owners, fmt.Sprintf("owner%d", n))
	} else {
		n = r.IntN(n)
	}
	keep, keepHead, place := r.one(0, 60_000), r.one("", "", "1"), r.one("", "", r.owners[r.IntN(len(r.owners))])
	floor := r.one(1_700_000_000_000_000+r.floor, 1, int64(1)<<52)
	closed := r.one("", "", "1")
	mode, process := r.one("x", "s"), "alive"
	if r.dead {
		mode = "x"
		keep, keepHead, place = 0, "", ""
		process = []string{"alive", "dead"}[r.IntN(2)]
	}
	if r.IntN(2) == 0 {
		owner := r.one(cmp.Or(holder, r.owners[n]), r.owners[n])
		return scriptRelease, []any{owner, floor, keep, place, keepHead, closed}
	}
	return scriptTake, []any{r.owners[n], r.one(30_000, 1500), r.one(1, 7), floor, r.one("host app", ""),
		mode, 1, r.one(1, 100), r.one("P", "P", "-", ""), fmt.Sprintf("%d-0123456789abcdef", n+1),
		process, place, r.one(0, 2), closed}
}

// scriptTester runs scripts on keys with a prefix, with the short parts or without them.
type scriptTester struct {
	client   *redis.Client
	set      *scriptSet
	prefix   string
	messages <-chan *redis.Message
}

func newScriptTester(t *testing.T, c *redis.Client, prefix string, short bool) *scriptTester {
	t.Helper()
	x := &scriptTester{client: c, prefix: prefix}
	x.set = (&config{prefix: prefix, retention: DefaultTokenRetention}).newScriptSet("identity", false)
	for _, s := range []script{scriptTake, scriptRelease} {
		edits := []string{"= joinQueue()", "= nil", "if releaseToHead()", "if false"}
		if short {
			edits = []string{"if joined then", "if joined then redis.call('INCR', 'joins')",
				"if releaseToHead() then", "if releaseToHead() then redis.call('INCR', 'hand-overs')"}
		}
		x.set.text[s] = strings.NewReplacer(edits...).Replace(x.set.text[s])
		x.set.sha[s] = c.ScriptLoad(t.Context(), x.set.text[s]).Val()
	}
	sub := c.Subscribe(t.Context(), prefix+"wake:alive")
	t.Cleanup(func() { _ = sub.Close() })
	if _, err := sub.Receive(t.Context()); err != nil {
		t.Fatal(err)
	}
	x.messages = sub.Channel(redis.WithChannelSize(100_000))
	return x
}

// holder returns the owner that holds exclusively, if there is one.
func (x *scriptTester) holder(t *testing.T, name int) string {
	owner, _, _ := strings.Cut(x.client.Get(t.Context(), fmt.Sprintf("%s{name%d}", x.prefix, name)).Val(), "\n")
	return owner
}

// digits finds times: in ms or us since 1970, and what is left of a lease.
var digits = regexp.MustCompile(`\b(1[6-9]\d{11}(000)?|[25]\d{4}|[36]0000|[4-9]\d\d|1\d\d\d|2000)\b`)

// run runs a script, and returns its answer, what it leaves, and the grant that it sends. Times are left out.
func (x *scriptTester) run(t *testing.T, s script, name int, args []any) string {
	t.Helper()
	key := fmt.Sprintf("%s{name%d}", x.prefix, name)
	keys := []string{key, key + ":token", key + ":queue", key + ":holders", key + ":info"}
	answer, err := x.client.EvalSha(t.Context(), x.set.sha[s], keys, args...).Result()
	// The short part does not look when the lease ends.
	out := []string{strings.Replace(fmt.Sprint("answer ", answer, " ", err), " -2 ", " TIME ", 1)}
	out = append(out, "value "+x.client.Get(t.Context(), keys[0]).Val())
	out = append(out, "token "+x.client.Get(t.Context(), keys[1]).Val())
	for _, k := range keys[2:4] {
		for _, z := range x.client.ZRangeWithScores(t.Context(), k, 0, -1).Val() {
			out = append(out, fmt.Sprintf("%s %v %.0f", k[len(key):], z.Member, z.Score))
		}
	}
	var records []string
	for field, record := range x.client.HGetAll(t.Context(), keys[4]).Val() {
		records = append(records, field+": "+record)
	}
	slices.Sort(records)
	out = append(out, records...)
	for _, k := range keys {
		if ttl := x.client.PTTL(t.Context(), k).Val(); ttl == -1 {
			out = append(out, k[len(key):]+" never expires")
		}
	}
	return digits.ReplaceAllString(strings.Join(out, "\n"), "TIME")
}

// expectNothingLeft releases all owners, and expects that only the last token stays, without a mark.
func (x *scriptTester) expectNothingLeft(t *testing.T, name int, owners []string) {
	t.Helper()
	got := ""
	for _, owner := range owners {
		got = x.run(t, scriptRelease, name, []any{owner, 1, 0, "", "", ""})
	}
	x.grants(t)
	if strings.Count(got, "\n") > 2 || strings.Contains(got, "q") {
		t.Errorf("round %d, after all releases:\n%s", name, got)
	}
}

// grants returns the grants that waiters have received, without times.
func (x *scriptTester) grants(t *testing.T) (all []string) {
	t.Helper()
	if n := x.client.Publish(t.Context(), x.prefix+"wake:alive", "end").Val(); n != 1 {
		t.Fatalf("the subscriber is gone: %d", n)
	}
	for m := range x.messages {
		if m.Payload == "end" {
			break
		}
		if words := strings.Fields(m.Payload); words[0] == "g" {
			all = append(all, strings.Join(words[1:5], " ")+" "+fmt.Sprint(words[6] != "0"))
		}
	}
	return all
}
