package redisfence_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/leasehold-go/leasehold/fence"
	"github.com/leasehold-go/leasehold/internal/redisserver"
	"github.com/leasehold-go/leasehold/redis/redisfence"
)

var marksByKind = map[string]redisfence.Mark{
	"key":   redisfence.Beside("data"),
	"field": {Key: "data", Field: "fence"},
}

// A mark goes up, and never down. An equal token passes.
func TestMarksGoUp(t *testing.T) {
	t.Parallel()
	c := startServer(t)
	for kind, m := range marksByKind {
		for _, s := range []struct {
			token, have uint64 // have is the mark that refuses it
		}{
			{5, 0}, {5, 0}, {4, 5}, {1, 5}, {10, 0}, {9, 10},
			{fence.MaxToken - 1, 0}, {fence.MaxToken, 0}, {fence.MaxToken - 1, fence.MaxToken},
		} {
			_, err := redisfence.Raise(t.Context(), c, m, s.token)
			if s.have > 0 {
				wantStale(t, kind, err, s.have, s.token)
			} else if err != nil {
				t.Errorf("%s: raising to %d: %v", kind, s.token, err)
			}
		}
	}
}

// Everything that a guard can do is refused once the mark is larger, and then changes nothing.
func TestStaleGuard(t *testing.T) {
	t.Parallel()
	c := startServer(t)
	for kind, m := range marksByKind {
		g := mustRaise(t, c, m, 5)
		if g.Token() != 5 {
			t.Errorf("%s: Token: %d", kind, g.Token())
		}
		noErr(t, g.HSet(t.Context(), "data", "a", "1"))
		mustRaise(t, c, m, 7)
		before, err := c.Dump(t.Context(), "data").Result()
		noErr(t, err)
		for what, call := range map[string]func() error{
			"Get":  func() error { _, err := g.Get(t.Context(), "data"); return err },
			"Set":  func() error { return g.Set(t.Context(), "data", "new") },
			"HGet": func() error { _, err := g.HGet(t.Context(), "data", "a"); return err },
			"HSet": func() error { return g.HSet(t.Context(), "data", "a", "new") },
			"Do":   func() error { _, err := g.Do(t.Context(), "DEL", "data"); return err },
			"Eval": func() error {
				_, err := g.Eval(t.Context(), "return redis.call('DEL', KEYS[1])", []string{"data"})
				return err
			},
		} {
			wantStale(t, kind+" "+what, call(), 7, 5)
		}
		if after, err := c.Dump(t.Context(), "data").Result(); err != nil || after != before {
			t.Errorf("%s: the data has changed: %v", kind, err)
		}
		noErr(t, c.FlushAll(t.Context()).Err())
	}
}

// What a guard does, and what it answers.
func TestGuard(t *testing.T) {
	t.Parallel()
	c := startServer(t)
	for kind, m := range map[string]redisfence.Mark{
		"key": redisfence.Beside("any"), "field": {Key: "marks", Field: "any"},
	} {
		ctx, g := t.Context(), mustRaise(t, c, m, 5)
		if _, err := g.Get(ctx, "text"); !errors.Is(err, goredis.Nil) {
			t.Errorf("%s: Get of nothing: %v", kind, err)
		}
		if _, err := g.HGet(ctx, "hash", "a"); !errors.Is(err, goredis.Nil) {
			t.Errorf("%s: HGet of nothing: %v", kind, err)
		}
		noErr(t, g.Set(ctx, "text", "a\x00b"))
		noErr(t, g.HSet(ctx, "hash", "a", 1, "b", []byte("2")))
		if v, err := g.Get(ctx, "text"); v != "a\x00b" || err != nil {
			t.Errorf("%s: Get: %q, %v", kind, v, err)
		}
		if v, err := g.HGet(ctx, "hash", "b"); v != "2" || err != nil {
			t.Errorf("%s: HGet: %q, %v", kind, v, err)
		}
		for _, s := range []struct {
			want any
			call func() (any, error)
		}{
			{int64(7), func() (any, error) { return g.Do(ctx, "INCRBY", "number", 7) }},
			{[]any{"a", "1", "b", "2"}, func() (any, error) { return g.Do(ctx, "HGETALL", "hash") }},
			{"OK", func() (any, error) { return g.Do(ctx, "SET", "text", "x", "EX", 100) }},
			{nil, func() (any, error) { return g.Do(ctx, "GETDEL", "nothing") }},
			{[]any{"7", "a", int64(1)}, func() (any, error) {
				return g.Eval(ctx, "return {redis.call('GET', KEYS[1]), ARGV[1], #KEYS}", []string{"number"}, "a")
			}},
			{int64(0), func() (any, error) { return g.Eval(ctx, "return #KEYS + #ARGV", nil) }},
			{nil, func() (any, error) { return g.Eval(ctx, "local mark, token = 1, 2 -- nothing", nil) }},
			{nil, func() (any, error) { return g.Eval(ctx, "return false", nil) }},
			{int64(1), func() (any, error) { return g.Eval(ctx, "return true", nil) }},
			{"PONG", func() (any, error) { return g.Eval(ctx, "return redis.call('PING')", nil) }},
			{[]any{}, func() (any, error) { return g.Eval(ctx, "return {}", nil) }},
			{[]any{int64(0), "9"}, func() (any, error) { return g.Eval(ctx, "return {0, '9'}", nil) }},
		} {
			got, err := s.call()
			if wantErr := s.want == nil; errors.Is(err, goredis.Nil) != wantErr ||
				!wantErr && (err != nil || !reflect.DeepEqual(got, s.want)) {
				t.Errorf("%s: %#v, %v, want %#v", kind, got, err, s.want)
			}
		}
		noErr(t, c.FlushAll(t.Context()).Err())
	}
}

// An error of the server is returned as such, and is no other outcome.
func TestErrorsOfTheServer(t *testing.T) {
	t.Parallel()
	c := startServer(t)
	ctx, g := t.Context(), mustRaise(t, c, redisfence.Beside("data"), 5)
	noErr(t, c.Set(ctx, "data", "text", 0).Err())
	for what, call := range map[string]func() error{
		"command that is none":       func() error { _, err := g.Do(ctx, "NOSUCH", "data"); return err },
		"wrong type":                 func() error { return g.HSet(ctx, "data", "a", "1") },
		"odd number of words":        func() error { return g.HSet(ctx, "data", "a") },
		"script that is none":        func() error { _, err := g.Eval(ctx, "return (", nil); return err },
		"script that ends too early": func() error { _, err := g.Eval(ctx, "end return 1", nil); return err },
		"script that fails":          func() error { _, err := g.Eval(ctx, "error('mine')", nil); return err },
		"script that returns failure": func() error {
			_, err := g.Eval(ctx, "return redis.error_reply('MINE')", nil)
			return err
		},
	} {
		err := call()
		_, ok := errors.AsType[goredis.Error](err)
		if !ok || errors.Is(err, fence.ErrUnknown) || errors.Is(err, fence.ErrStale) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if v, err := c.Get(ctx, "data").Result(); v != "text" || err != nil {
		t.Errorf("the data is %q, %v", v, err)
	}
}

// A key that holds no mark is left alone, and lets nobody in.
func TestKeyThatHoldsNoMark(t *testing.T) {
	t.Parallel()
	c := startServer(t)
	for _, text := range []string{"", "x", "-1", "1.5", "1e3", "0x1", " 1", "99999999999999999"} {
		for kind, m := range map[string]redisfence.Mark{"key": {Key: "mark"}, "field": {Key: "hash", Field: "mark"}} {
			noErr(t, c.Set(t.Context(), "mark", text, 0).Err())
			noErr(t, c.HSet(t.Context(), "hash", "mark", text).Err())
			_, err := redisfence.Raise(t.Context(), c, m, 5)
			if err == nil || !strings.Contains(err.Error(), "NOMARK") || errors.Is(err, fence.ErrUnknown) {
				t.Errorf("%s %q: %v", kind, text, err)
			}
			if a, b := c.Get(t.Context(), "mark").
				Val(),
				c.HGet(t.Context(), "hash", "mark").
					Val(); a != text ||
				b != text {
				t.Errorf("%s %q: it has become %q, %q", kind, text, a, b)
			}
		}
	}
	noErr(t, c.RPush(t.Context(), "list", "1").Err())
	if _, err := redisfence.Raise(t.Context(), c, redisfence.Mark{Key: "list"}, 5); err == nil {
		t.Error("a list passes for a mark")
	}
}

// No mark expires, even if somebody has given it an expiry.
func TestMarksHaveNoExpiry(t *testing.T) {
	t.Parallel()
	c := startServer(t)
	m := redisfence.Mark{Key: "mark"}
	for _, token := range []uint64{5, 5, 6} { // made, equal, raised
		mustRaise(t, c, m, token)
		if left := c.TTL(t.Context(), "mark").Val(); left != -1 {
			t.Errorf("the mark %d expires in %v", token, left)
		}
		noErr(t, c.Expire(t.Context(), "mark", time.Hour).Err())
	}
}

// A guard that deletes the hash with the mark, or overwrites the mark, leaves the mark as it was.
func TestMarkOutlivesItsHash(t *testing.T) {
	t.Parallel()
	c := startServer(t)
	m := marksByKind["field"]
	g := mustRaise(t, c, m, 5)
	for what, call := range map[string]func() error{
		"DEL":  func() error { _, err := g.Do(t.Context(), "DEL", "data"); return err },
		"HDEL": func() error { _, err := g.Do(t.Context(), "HDEL", "data", "fence"); return err },
		"HSet": func() error { return g.HSet(t.Context(), "data", "fence", 1) },
		"a script": func() error {
			_, err := g.Eval(t.Context(), "redis.call('DEL', KEYS[1])", []string{"data"})
			return err
		},
	} {
		if err := call(); err != nil && !errors.Is(err, goredis.Nil) {
			t.Errorf("%s: %v", what, err)
		}
		_, err := redisfence.Raise(t.Context(), c, m, 4)
		wantStale(t, what, err, 5, 4)
	}
	if err := g.Set(t.Context(), "data", "text"); err == nil || errors.Is(err, fence.ErrUnknown) {
		t.Errorf("a hash that becomes a text: %v, want an error of the server", err)
	}
}

// The mark is there after everything that a guard can do, even if that deletes the mark, or fails half-way.
func TestMarkOutlivesScripts(t *testing.T) {
	t.Parallel()
	c := startServer(t)
	for kind, m := range marksByKind {
		for what, call := range map[string]func(g *redisfence.Guard) (any, error){
			"DEL of several": func(g *redisfence.Guard) (any, error) {
				return g.Do(t.Context(), "DEL", "data", "{data}:fence")
			},
			"FLUSHDB": func(g *redisfence.Guard) (any, error) {
				return g.Eval(t.Context(), "return redis.call('FLUSHDB')", nil)
			},
			"a script that deletes, and then fails": func(g *redisfence.Guard) (any, error) {
				return g.Eval(t.Context(), "redis.call('DEL', KEYS[1], '{data}:fence') error('mine')", []string{"data"})
			},
			"a script that deletes, and then is refused": func(g *redisfence.Guard) (any, error) {
				return g.Eval(t.Context(), "redis.call('DEL', KEYS[1], '{data}:fence') redis.call('NOSUCH')",
					[]string{"data"})
			},
			"a script with names of ours": func(g *redisfence.Guard) (any, error) {
				// Redis lets no script make global variables.
				return g.Eval(t.Context(), "token = '1' mark = KEYS[1]", []string{"data"})
			},
			"a script that looks for names of ours": func(g *redisfence.Guard) (any, error) {
				return g.Eval(t.Context(), "return token", nil)
			},
		} {
			g := mustRaise(t, c, m, 5)
			_, err := call(g)
			if fails := strings.HasPrefix(what, "a script"); fails != (err != nil) {
				t.Errorf("%s, %s: %v", kind, what, err)
			} else if _, ok := errors.AsType[goredis.Error](err); fails && (!ok || errors.Is(err, fence.ErrUnknown)) {
				t.Errorf("%s, %s: %v, want an error of the server", kind, what, err)
			}
			_, err = redisfence.Raise(t.Context(), c, m, 4)
			wantStale(t, kind+", "+what, err, 5, 4)
			noErr(t, c.FlushAll(t.Context()).Err())
		}
	}
}

// A missing mark is made once, by the first caller, and all others see it.
func TestFirstRaisers(t *testing.T) {
	t.Parallel()
	c := startServer(t)
	const raisers, names = 8, 20
	var work sync.WaitGroup
	for token := uint64(1); token <= raisers; token++ {
		work.Go(func() {
			for i := range names {
				err := redisfence.Marks{Client: c}.Raise(t.Context(), fmt.Sprint("name ", i), token)
				if err != nil && (token == raisers || !errors.Is(err, fence.ErrStale)) {
					t.Errorf("raising to %d: %v", token, err)
				}
			}
		})
	}
	work.Wait()
	for i := range names {
		if got := c.Get(t.Context(), fmt.Sprint("fence:name ", i)).Val(); got != fmt.Sprint(raisers) {
			t.Errorf("mark %d is %q", i, got)
		}
	}
}

// Wrong use is refused by a ValueError or SlotError, before anything is sent.
func TestWrongUse(t *testing.T) {
	t.Parallel()
	c := startServer(t)
	g := mustRaise(t, c, redisfence.Beside("data"), 5)
	ctx, sent := t.Context(), new(counter)
	c.AddHook(sent)
	ring := closeAfter(t, goredis.NewRing(&goredis.RingOptions{Addrs: map[string]string{"only": c.Options().Addr}}))
	ring.AddHook(sent)
	m := redisfence.Beside("data")
	fail := func(m redisfence.Mark, token uint64) func() error {
		return func() error { _, err := redisfence.Raise(ctx, c, m, token); return err }
	}
	marks := func(name string, token uint64) func() error {
		return func() error { return redisfence.Marks{Client: c}.Raise(ctx, name, token) }
	}
	for what, call := range map[string]func() error{
		"no client":  func() error { _, err := redisfence.Raise(ctx, nil, m, 1); return err },
		"nil client": func() error { _, err := redisfence.Raise(ctx, (*goredis.Client)(nil), m, 1); return err },
		"nil cluster": func() error {
			_, err := redisfence.Raise(ctx, (*goredis.ClusterClient)(nil), m, 1)
			return err
		},
		"marks, no client":  func() error { return redisfence.Marks{}.Raise(ctx, "a", 1) },
		"a ring":            func() error { _, err := redisfence.Raise(ctx, ring, m, 1); return err },
		"the zero guard":    func() error { return new(redisfence.Guard).Set(ctx, "data", "x") },
		"no guard":          func() error { return (*redisfence.Guard)(nil).Set(ctx, "data", "x") },
		"no mark":           fail(redisfence.Mark{}, 1),
		"field without key": fail(redisfence.Mark{Field: "a"}, 1),
		"beside nothing":    fail(redisfence.Beside(""), 1),
		"beside odd key":    fail(redisfence.Beside("odd}key"), 1),
		"beside a tag":      fail(redisfence.Beside("{data}"), 1),
		"token 0":           fail(m, 0),
		"token 2^53":        fail(m, fence.MaxToken+1),
		"largest uint64":    fail(m, math.MaxUint64),
		"empty name":        marks("", 1),
		"name too long":     marks(strings.Repeat("n", fence.MaxName+1), 1),
		"name no UTF-8":     marks("\xff", 1),
		"marks, token 0":    marks("a", 0),
		"no command":        func() error { _, err := g.Do(ctx, "", "data"); return err },
		"no script":         func() error { _, err := g.Eval(ctx, " \n", nil); return err },
		"shebang":           func() error { _, err := g.Eval(ctx, "#!lua\nreturn 1", nil); return err },
		"the mark itself":   func() error { return g.Set(ctx, m.Key, "1") },
		"mark for a script": func() error { _, err := g.Eval(ctx, "return 1", []string{"data", m.Key}); return err },
		"too many words":    func() error { _, err := g.Do(ctx, "LPUSH", "data", make([]any, 5000)...); return err },
		"too many keys":     func() error { _, err := g.Eval(ctx, "return 1", make([]string, 5000)); return err },
	} {
		if err := call(); !errors.Is(err, fence.ErrInvalid) || len(err.Error()) > 400 {
			t.Errorf("%s: %v, want an ErrInvalid", what, err)
		}
	}
	if n := sent.Load(); n != 0 {
		t.Errorf("%d commands were sent", n)
	}
}

// The server takes this many arguments.
func TestMostArguments(t *testing.T) {
	t.Parallel()
	c := startServer(t)
	g := mustRaise(t, c, redisfence.Beside("data"), 5)
	args := make([]any, 3999)
	for i := range args {
		args[i] = i
	}
	if n, err := g.Do(t.Context(), "RPUSH", "data", args...); n != int64(len(args)) || err != nil {
		t.Errorf("RPUSH: %v, %v", n, err)
	}
	keys := make([]string, 4000)
	for i := range keys {
		keys[i] = fmt.Sprint("key", i)
	}
	if n, err := g.Eval(t.Context(), "return #KEYS + #ARGV", keys, append(args, 1)...); n != int64(8000) || err != nil {
		t.Errorf("Eval: %v, %v", n, err)
	}
}

// A server that has lost its scripts gets them again.
func TestServerThatForgetsScripts(t *testing.T) {
	t.Parallel()
	c := startServer(t)
	g := mustRaise(t, c, redisfence.Beside("data"), 5)
	for range 2 {
		noErr(t, g.Set(t.Context(), "data", "a"))
		noErr(t, c.ScriptFlush(t.Context()).Err())
	}
	noErr(t, g.Set(t.Context(), "data", "b"))
}

// Clients that pipeline the commands of many goroutines work as well.
func TestPipelinedClients(t *testing.T) {
	t.Parallel()
	s := redisserver.ForTest(t, redisserver.Config{})
	for name, open := range map[string]func(*goredis.Client) (*goredis.AutoPipeliner, error){
		"blocking": (*goredis.Client).AutoPipeline,
		"deferred": (*goredis.Client).AsyncAutoPipeline,
	} {
		together, err := open(newClient(t, s.Addr()))
		noErr(t, err)
		key := "{" + name + "}data"
		m := redisfence.Beside(key)
		g := mustRaise(t, closeAfter(t, together), m, 5)
		var work sync.WaitGroup
		for range 50 {
			work.Go(func() {
				if _, err := g.Do(t.Context(), "INCR", key); err != nil {
					t.Errorf("%s: %v", name, err)
				}
			})
		}
		work.Wait()
		if v, err := g.Get(t.Context(), key); v != "50" || err != nil {
			t.Errorf("%s: %q, %v", name, v, err)
		}
		mustRaise(t, together, m, 6)
		wantStale(t, name, g.Set(t.Context(), key, "x"), 6, 5)
		if err := g.Set(t.Context(), "elsewhere", "x"); !errors.Is(err, fence.ErrInvalid) { // it may be a Cluster
			t.Errorf("%s: a key in another slot: %v", name, err)
		}
	}
}

// A gate with marks in Redis goes on where another process has stopped.
func TestGateWithMarksInRedis(t *testing.T) {
	t.Parallel()
	c := startServer(t)
	work := func(context.Context) error { return nil }
	noErr(t, fence.NewGate(redisfence.Marks{Client: c, Prefix: "mine:"}).Do(t.Context(), "a", 5, work))
	err := fence.NewGate(redisfence.Marks{Client: c, Prefix: "mine:"}).Do(t.Context(), "a", 4, work)
	wantStale(t, "another process", err, 5, 4)
}
