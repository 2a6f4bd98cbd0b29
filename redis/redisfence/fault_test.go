package redisfence_test

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/leasehold-go/leasehold/fence"
	"github.com/leasehold-go/leasehold/internal/redisserver"
	"github.com/leasehold-go/leasehold/redis/redisfence"
)

// A request whose reply is lost has an unknown outcome, and is sent once. What became of it can be read.
func TestLostReply(t *testing.T) {
	t.Parallel()
	s := redisserver.ForTest(t, redisserver.Config{})
	p := redisserver.ProxyForTest(t, s.Addr())
	// These are settings of the client, with which it would send a request again.
	c := closeAfter(t, goredis.NewClient(&goredis.Options{Addr: p.Addr(), MaxRetries: 3}))
	g := mustRaise(t, c, redisfence.Beside("data"), 5)
	if _, err := g.Do(t.Context(), "INCR", "data"); err != nil { // the server knows the script now
		t.Fatal(err)
	}
	var cut atomic.Int64
	p.Intercept(func(request []byte) redisserver.Action {
		if bytes.Contains(bytes.ToLower(request), []byte("evalsha")) {
			cut.Add(1)
			return redisserver.CutAfter
		}
		return redisserver.Pass
	})
	_, err := g.Do(t.Context(), "INCR", "data")
	if !errors.Is(err, fence.ErrUnknown) {
		t.Errorf("Do: %v, want ErrUnknown", err)
	}
	if _, err := redisfence.Raise(t.Context(), c, redisfence.Beside("data"), 6); !errors.Is(err, fence.ErrUnknown) {
		t.Errorf("Raise: %v, want ErrUnknown", err)
	}
	if n := cut.Load(); n != 2 {
		t.Errorf("two requests were sent %d times", n)
	}
	p.Intercept(nil)
	await(t, "both have been done", func() bool {
		n, err1 := s.Command("GET", "data")
		mark, err2 := s.Command("GET", "{data}:fence")
		return err1 == nil && err2 == nil && n == "2" && mark == "6"
	})
	if _, err := g.Get(t.Context(), "data"); !errors.Is(err, fence.ErrStale) {
		t.Errorf("Get: %v, want ErrStale", err)
	}
}

// The documents warn of this: a write that was given up can arrive after a later write by the same lease. A
// larger token keeps it out.
func TestWriteThatComesLate(t *testing.T) {
	t.Parallel()
	s := redisserver.ForTest(t, redisserver.Config{})
	p := redisserver.ProxyForTest(t, s.Addr())
	c, slow := newClient(t, s.Addr()), closeAfter(t,
		goredis.NewClient(&goredis.Options{Addr: p.Addr(), ReadTimeout: time.Second}))
	for next, want := range map[uint64]string{5: "late", 6: "next"} {
		key := fmt.Sprint("data ", next)
		m := redisfence.Beside(key)
		g := mustRaise(t, slow, m, 5)
		var passed atomic.Bool
		p.Intercept(func(request []byte) redisserver.Action {
			if bytes.Contains(request, []byte("late")) {
				passed.Store(true)
				return redisserver.Hold
			}
			return redisserver.Pass
		})
		if err := g.Set(t.Context(), key, "late"); !errors.Is(err, fence.ErrUnknown) || !passed.Load() {
			t.Fatalf("Set: %v, want ErrUnknown", err)
		}
		noErr(t, mustRaise(t, c, m, next).Set(t.Context(), key, "next"))
		before := scriptRuns(t, c)
		p.Release()
		await(t, "the late write has arrived", func() bool { return scriptRuns(t, c) > before })
		if v := c.Get(t.Context(), key).Val(); v != want {
			t.Errorf("next token %d: %q, want %q", next, v, want)
		}
	}
}

// scriptRuns is how many scripts the server has run.
func scriptRuns(t *testing.T, c *goredis.Client) (n int) {
	t.Helper()
	for line := range strings.Lines(c.Info(t.Context(), "commandstats").Val()) {
		var calls int
		if _, err := fmt.Sscanf(line, "cmdstat_evalsha:calls=%d,", &calls); err == nil {
			n += calls
		}
		if _, err := fmt.Sscanf(line, "cmdstat_eval:calls=%d,", &calls); err == nil {
			n += calls
		}
	}
	return n
}

// A request that reached no server has had no effect, and says so.
func TestServerIsDown(t *testing.T) {
	t.Parallel()
	s := redisserver.ForTest(t, redisserver.Config{})
	c := closeAfter(t, goredis.NewClient(&goredis.Options{Addr: s.Addr(), DialerRetries: 1}))
	s.Kill()
	_, err := redisfence.Raise(t.Context(), c, redisfence.Beside("data"), 5)
	if err == nil || errors.Is(err, fence.ErrUnknown) || errors.Is(err, fence.ErrInvalid) {
		t.Errorf("Raise: %v", err)
	}
}

// A silent server keeps no caller for longer than the client's time limit.
func TestSilentServer(t *testing.T) {
	t.Parallel()
	s := redisserver.ForTest(t, redisserver.Config{})
	c := closeAfter(t, goredis.NewClient(&goredis.Options{Addr: s.Addr(), ReadTimeout: time.Second}))
	g := mustRaise(t, c, redisfence.Beside("data"), 5)
	noErr(t, s.Pause())
	if err := g.Set(t.Context(), "data", "x"); !errors.Is(err, fence.ErrUnknown) {
		t.Errorf("Set: %v, want ErrUnknown", err)
	}
	noErr(t, s.Resume())
}

// These rights are enough, and fewer are not.
func TestSmallestRights(t *testing.T) {
	t.Parallel()
	s := redisserver.ForTest(t, redisserver.Config{})
	for user, c := range map[string]struct {
		mark   redisfence.Mark
		rights []string
	}{
		"key": {
			redisfence.Beside("data"),
			[]string{"+eval", "+evalsha", "+get", "+set", "+persist", "~data", "~{data}:fence"},
		},
		"field": {
			redisfence.Mark{Key: "data", Field: "fence"},
			[]string{"+eval", "+evalsha", "+hget", "+hset", "~data"},
		},
	} {
		use := func(rights []string) error {
			setUser := append([]string{"ACL", "SETUSER", user, "reset", "on", ">secret", "-@all"}, rights...)
			if _, err := s.Command(setUser...); err != nil {
				t.Fatal(err)
			}
			if _, err := s.Command("FLUSHALL"); err != nil {
				t.Fatal(err)
			}
			limited := goredis.NewClient(&goredis.Options{Addr: s.Addr(), Username: user, Password: "secret"})
			defer limited.Close()
			g, err := redisfence.Raise(t.Context(), limited, c.mark, 5)
			if err != nil {
				return err
			}
			if _, err := redisfence.Raise(t.Context(), limited, c.mark, 5); err != nil {
				return err
			}
			if c.mark.Field == "" {
				return g.Set(t.Context(), "data", "x")
			}
			return g.HSet(t.Context(), "data", "a", "x")
		}
		if err := use(c.rights); err != nil {
			t.Errorf("%s: %v", user, err)
		}
		for i, right := range c.rights {
			if right == "+eval" && i == 0 {
				continue // only where the server does not know the scripts
			}
			err := use(slices.Delete(slices.Clone(c.rights), i, i+1))
			if err == nil || errors.Is(err, fence.ErrUnknown) {
				t.Errorf("%s without %s: %v", user, right, err)
			}
		}
	}
}

func await(t *testing.T, what string, is func() bool) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); !is(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("not in time: %s", what)
		}
	}
}
