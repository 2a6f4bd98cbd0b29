package redis_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/internal/redisserver"
	"github.com/leasehold-go/leasehold/redis"
)

// locksNamed asks for locks of these names, which are in order.
func locksNamed(names ...string) []driver.Request {
	var batch []driver.Request
	for _, name := range names {
		batch = append(batch, lasting(name, time.Minute))
	}
	return batch
}

// mustTakeAll takes what must be free.
func mustTakeAll(t *testing.T, e *redis.Engine, batch []driver.Request) []driver.Grant {
	t.Helper()
	grants, err := e.TakeAll(t.Context(), batch)
	if err != nil || len(grants) != len(batch) {
		t.Fatalf("TakeAll of %d free locks: %d grants, %v", len(batch), len(grants), err)
	}
	return grants
}

// checkNoneTaken checks an error of TakeAll, after which nothing may have changed.
func checkNoneTaken(t *testing.T, err, want error, e *redis.Engine, batch []driver.Request) {
	t.Helper()
	if !errors.Is(err, want) || !driver.HadNoEffect(err) {
		t.Errorf("TakeAll: %v, want %v", err, want)
	}
	for _, r := range batch {
		if err := e.Release(t.Context(), driver.Release{Hold: hold(r)}); !errors.Is(err, driver.ErrNotHeld) {
			t.Errorf("Release of %q, which was not granted: %v", r.Name, err)
		}
	}
}

func TestTakeAllOnOneServer(t *testing.T) {
	t.Parallel()
	s := redisserver.ForTest(t, redisserver.Config{})
	e := unguarded(t, standalone(s))
	many := func(n int) (names []string) {
		for i := range n {
			names = append(names, fmt.Sprintf("many %03d", i))
		}
		return names
	}
	for name, check := range map[string]func(t *testing.T){
		"OneRequestForAnyNames": func(t *testing.T) {
			mustTake(t, e, lock("known")) // so that the scripts are there
			before := commandCalls(t, s, "evalsha")
			batch := locksNamed(many(64)...)
			mustTakeAll(t, e, batch)
			if n := commandCalls(t, s, "evalsha") - before; n != 1 {
				t.Errorf("%d scripts were run, want one", n)
			}
			for _, r := range batch {
				release(t, e, r)
			}
		},
		"TooManyNamesAreApart": func(t *testing.T) {
			batch := locksNamed(many(65)...)
			before := commandCalls(t, s, "evalsha")
			_, err := e.TakeAll(t.Context(), batch)
			if n := commandCalls(t, s, "evalsha") - before; n != 0 {
				t.Errorf("%d scripts were run, want none", n)
			}
			checkNoneTaken(t, err, driver.ErrNotTogether, e, batch)
		},
		"OthersWithAnotherClient": func(t *testing.T) {
			command(t, s, "SET", "lock:foreign b", "someone else's")
			batch := locksNamed("foreign a", "foreign b")
			_, err := e.TakeAll(t.Context(), batch)
			checkNoneTaken(t, err, driver.ErrHeld, e, batch)
			command(t, s, "DEL", "lock:foreign b")
			mustTakeAll(t, e, batch)
		},
		"KeysOfAnotherType": func(t *testing.T) {
			for _, key := range []string{"lock:typed b", "{lock:typed b}:token"} {
				command(t, s, "HSET", key, "f", "v")
				batch := locksNamed("typed a", "typed b")
				_, err := e.TakeAll(t.Context(), batch)
				if !driver.IsPermanent(err) || !strings.Contains(err.Error(), "another program") {
					t.Errorf("TakeAll with a hash at %s: %v", key, err)
				}
				command(t, s, "DEL", key)
				mustTakeAll(t, e, locksNamed("typed a", "typed b")[:1])
				command(t, s, "DEL", "lock:typed a")
			}
		},
		"TokensAheadOfTheClock": func(t *testing.T) {
			ahead := time.Now().Add(time.Hour).UnixMicro()
			command(t, s, "SET", "{lock:ahead b}:token", fmt.Sprint(ahead), "PX", "100000")
			batch := locksNamed("ahead a", "ahead b")
			batch[1].Tokens = 3
			grants := mustTakeAll(t, e, batch)
			if want := (driver.Grant{Token: uint64(ahead) + 1, Tokens: 3}); grants[1] != want {
				t.Errorf("got %+v, want %+v", grants[1], want)
			}
			if last := command(t, s, "GET", "{lock:ahead b}:token"); last != fmt.Sprint(ahead+3) {
				t.Errorf("the last token is %v, want %d", last, ahead+3)
			}
			if short := keysWith(t, s, "string.find(key, 'ahead .}:token$') and ttl < 3600000"); len(short) > 0 {
				t.Errorf("the tokens of %q are soon forgotten", short)
			}
		},
		"SpentTokens": func(t *testing.T) {
			command(t, s, "SET", "{lock:spent b}:token", fmt.Sprint(uint64(driver.MaxToken)))
			batch := locksNamed("spent a", "spent b")
			_, err := e.TakeAll(t.Context(), batch)
			if !driver.IsPermanent(err) || !strings.Contains(err.Error(), "used up") {
				t.Errorf("TakeAll when a name has used up its tokens: %v", err)
			}
			mustTake(t, e, lasting("spent a", time.Minute))
		},
		"ListedLikeOthers": func(t *testing.T) {
			batch := locksNamed("listed a", "listed b")
			batch[0].Holder = "me\x00\nand more" // which a script would end at the NUL
			grants := mustTakeAll(t, e, batch)
			for i, text := range []string{"me\nand more", "test"} {
				st := status(t, e, batch[i].Key)
				if len(st.Holders) != 1 || st.Holders[0].Token != grants[i].Token || st.Holders[0].Holder != text ||
					st.Holders[0].Age < 0 || st.Holders[0].TTL > time.Minute {
					t.Errorf("listed as %+v", st.Holders)
				}
			}
		},
		"RefusedNameIsQueuedForAtOnce": func(t *testing.T) {
			held := lasting("contended b", time.Minute)
			mustTake(t, e, held)
			mustTake(t, e, lasting("contended for the subscription", time.Minute))
			mustJoin(t, e, lock("contended for the subscription")) // from now on the engine is subscribed
			_, err := e.TakeAll(t.Context(), locksNamed("contended a", "contended b", "contended c"))
			if !errors.Is(err, driver.ErrHeld) {
				t.Fatal(err)
			}
			before := commandCalls(t, s, "evalsha")
			mustJoin(t, e, lock("contended b"))
			if n := commandCalls(t, s, "evalsha") - before; n != 1 {
				t.Errorf("%d scripts were run to join the queue of a name that is known to be held, want one", n)
			}
			release(t, e, held)
		},
	} {
		t.Run(name, check) // not in parallel: they count what the server does
	}
}

// commandCalls returns how often a server has run a command.
func commandCalls(t *testing.T, s *redisserver.Server, name string) (n int) {
	t.Helper()
	text, err := s.Command("INFO", "commandstats")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(fmt.Sprint(text)) {
		if after, ok := strings.CutPrefix(line, "cmdstat_"+name+":calls="); ok {
			_, err = fmt.Sscanf(after, "%d,", &n)
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func TestTakeAllOnACluster(t *testing.T) {
	t.Parallel()
	c := redisserver.ClusterForTest(t, 3, 0, redisserver.Config{})
	for name, client := range map[string]newClient{"Plain": cluster(c), "AutoPipeline": pipelined(cluster(c))} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			apart := locksNamed(name+" a", name+" b")
			for _, known := range []bool{false, true} {
				e := unguarded(t, client)
				if known {
					mustTakeAll(t, e, locksNamed("{"+name+"}", "{"+name+"} a", "{"+name+"} b"))
				}
				_, err := e.TakeAll(t.Context(), apart)
				checkNoneTaken(t, err, driver.ErrNotTogether, e, apart)
			}
			e := unguarded(t, client)
			_, err := e.TakeAll(t.Context(), locksNamed("{"+name+"} a", "{"+name+"} c"))
			if !errors.Is(err, driver.ErrHeld) {
				t.Errorf("TakeAll of names in one slot of which one is held: %v", err)
			}
		})
	}
}

// While the guard keeps grants closed, nothing is granted, but what is held can be taken again by its owner.
func TestTakeAllWhileGrantsAreClosed(t *testing.T) {
	t.Parallel()
	s := redisserver.ForTest(t, redisserver.Config{})
	held := locksNamed("a", "b")
	first := mustTakeAll(t, unguarded(t, standalone(s)), held)
	e := open(t, standalone(s))
	_, err := e.TakeAll(t.Context(), locksNamed("c", "d"))
	if !errors.Is(err, driver.ErrHeld) {
		t.Errorf("TakeAll while grants are closed: %v, want ErrHeld", err)
	}
	if again := mustTakeAll(t, e, held); !slices.Equal(again, first) {
		t.Errorf("got %+v, want %+v", again, first)
	}
	_, err = e.TakeAll(t.Context(), append(slices.Clone(held), locksNamed("c")...))
	if !errors.Is(err, driver.ErrHeld) {
		t.Errorf("TakeAll of one more while grants are closed: %v, want ErrHeld", err)
	}
}

func TestTakeAllThatIsNotConfirmedIsUndone(t *testing.T) {
	t.Parallel()
	s := redisserver.ForTest(t, redisserver.Config{})
	e := unguarded(t, standalone(s), redis.WithReplicas(1, 10*time.Millisecond))
	_, err := e.TakeAll(t.Context(), locksNamed("a", "b"))
	checkShortfall(t, err)
	checkNothingLeft(t, s)
	mustTake(t, unguarded(t, standalone(s)), lasting("b", time.Minute))
	_, err = e.TakeAll(context.Background(), locksNamed("a", "b"))
	if !errors.Is(err, driver.ErrHeld) {
		t.Errorf("TakeAll of what another holds, without replicas: %v, want ErrHeld", err)
	}
}
