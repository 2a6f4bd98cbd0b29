package redis_test

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/internal/redisserver"
	"github.com/leasehold-go/leasehold/redis"
)

// standaloneClients are the kinds of clients of one server, by name.
func standaloneClients(s *redisserver.Server) map[string]newClient {
	return map[string]newClient{"Plain": standalone(s), "AutoPipeline": pipelined(standalone(s))}
}

// Whatever state a name is in, a request in a batch has the outcome that it has by itself.
func TestEachRequestOfABatchHasItsOwnOutcome(t *testing.T) {
	t.Parallel()
	const later = 1 << 52 // a token that no clock has reached
	set := func(t *testing.T, s *redisserver.Server, key, value string) {
		command(t, s, "SET", key, value, "PX", "60000")
	}
	notHeld := func(r result) bool { return errors.Is(r.err, driver.ErrNotHeld) }
	granted := func(r result) bool { return r.err == nil && r.Token > 0 && r.Token < later }
	yes := func(r result) bool { return r.err == nil }
	permanent := func(text string) func(result) bool {
		return func(r result) bool { return driver.IsPermanent(r.err) && strings.Contains(r.err.Error(), text) }
	}
	type batched struct {
		before  func(t *testing.T, s *redisserver.Server, beside *redis.Engine, r driver.Request)
		is      func(result) bool
		release bool
	}
	held := func(t *testing.T, _ *redisserver.Server, beside *redis.Engine, r driver.Request) {
		mustTake(t, beside, r)
	}
	heldByOther := func(t *testing.T, _ *redisserver.Server, beside *redis.Engine, r driver.Request) {
		mustTake(t, beside, lasting(r.Name, time.Minute))
	}
	awaited := func(t *testing.T, _ *redisserver.Server, beside *redis.Engine, r driver.Request) {
		mustTake(t, beside, r)
		mustJoin(t, beside, lasting(r.Name, time.Minute))
	}
	list := func(t *testing.T, s *redisserver.Server, _ *redis.Engine, r driver.Request) {
		command(t, s, "RPUSH", "lock:"+r.Name, "x")
	}
	counter := func(text string) func(*testing.T, *redisserver.Server, *redis.Engine, driver.Request) {
		return func(t *testing.T, s *redisserver.Server, _ *redis.Engine, r driver.Request) {
			set(t, s, "{lock:"+r.Name+"}:token", text)
		}
	}
	counterIsList := func(t *testing.T, s *redisserver.Server, _ *redis.Engine, r driver.Request) {
		command(t, s, "RPUSH", "{lock:"+r.Name+"}:token", "x")
	}
	foreignText := func(t *testing.T, s *redisserver.Server, _ *redis.Engine, r driver.Request) {
		command(t, s, "SET", "lock:"+r.Name, "x")
	}
	foreignOwner := func(t *testing.T, s *redisserver.Server, _ *redis.Engine, r driver.Request) {
		set(t, s, "lock:"+r.Name, r.Owner)
	}
	all := map[string]batched{
		"take: free":                           {is: granted},
		"take: free, too":                      {is: granted},
		"take: held by another":                {heldByOther, refusedFor(1, time.Minute), false},
		"take: held by the owner":              {held, granted, false},
		"take: held, and others wait":          {awaited, granted, false},
		"take: another type":                   {list, permanent("WRONGTYPE"), false},
		"take: the counter is of another type": {counterIsList, permanent("WRONGTYPE"), false},
		"take: the clock is behind": {counter(strconv.FormatInt(later, 10)),
			func(r result) bool { return r.err == nil && r.Token == later+1 }, false},
		"take: no tokens are left": {counter(strconv.FormatInt(driver.MaxToken, 10)), permanent("2^53"),
			false},
		"take: somebody is marked as waiting": {counter("5q"), granted, false},
		"take: the counter is damaged":        {counter("abc"), granted, false},
		"take: a client of another kind":      {foreignText, refusedFor(-time.Second, -1), false},
		"release: held":                       {held, yes, true},
		"release: held, too":                  {held, yes, true},
		"release: free":                       {nil, notHeld, true},
		"release: held by another":            {heldByOther, notHeld, true},
		"release: others wait":                {awaited, yes, true},
		"release: another type":               {list, permanent("WRONGTYPE"), true},
		"release: a client of another kind":   {foreignOwner, notHeld, true},
	}
	s := redisserver.ForTest(t, redisserver.Config{})
	for kind, client := range standaloneClients(s) {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			e, c := openCounted(t, client, redis.WithoutFailoverGuard())
			beside := unguarded(t, standalone(s))
			results := map[string]<-chan result{}
			requests := map[string]driver.Request{}
			for name, b := range all {
				r := lasting(kind+" "+name, time.Minute)
				if requests[name] = r; b.before != nil {
					b.before(t, s, beside, r)
				}
			}
			c.sendAsOneBatch(t, func() {
				for name, b := range all {
					if b.release {
						results[name] = startRelease(e, requests[name])
					} else {
						results[name] = startTake(e, requests[name])
					}
				}
			})
			outcomes := map[string]result{}
			for name := range all {
				outcomes[name] = <-results[name]
			}
			scripts, batches := c.sent()
			if !slices.Equal(batches, []int{len(all)}) {
				t.Errorf("the requests went in scripts of %v, want one of %d", batches, len(all))
			}
			if want := 1 + 10; scripts != want {
				t.Errorf("%d scripts were sent, want %d: one for all, and one for each name that is not plainly free "+
					"or held", scripts, want)
			}
			for name, b := range all {
				r := outcomes[name]
				if !b.is(r) {
					t.Errorf("%s: token %d, %v", name, r.Token, r.err)
				}
				holds := renewOne(t.Context(), e, hold(requests[name]), time.Minute) == nil
				if want := r.err == nil && !b.release; holds != want {
					t.Errorf("%s: the owner holds the lock afterwards: %v, want %v", name, holds, want)
				}
				command(t, s, "DEL", "lock:"+requests[name].Name)
			}
		})
	}
}

// A name that is in a batch twice has one outcome after the other.
func TestOneNameTwiceInABatch(t *testing.T) {
	t.Parallel()
	s := redisserver.ForTest(t, redisserver.Config{})
	for kind, client := range standaloneClients(s) {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			e, c := openCounted(t, client, redis.WithoutFailoverGuard())
			mine, next := lasting(kind+" a", time.Minute), lasting(kind+" a", time.Minute)
			one, other := lasting(kind+" b", time.Minute), lasting(kind+" b", time.Minute)
			again := lasting(kind+" c", time.Minute)
			mustTake(t, e, mine)
			var released, releasedAgain, taken, first, second, took, tookAgain <-chan result
			c.sendAsOneBatch(t, func() {
				taken = startTake(e, next)
				released, releasedAgain = startRelease(e, mine), startRelease(e, mine)
				first, second = startTake(e, one), startTake(e, other)
				took, tookAgain = startTake(e, again), startTake(e, again)
			})
			if a, b := <-released, <-releasedAgain; !(a.err == nil && errors.Is(b.err, driver.ErrNotHeld)) {
				t.Errorf("two releases by one owner: %v and %v, want a yes and a no", a.err, b.err)
			}
			if r := <-taken; r.err != nil {
				t.Errorf("take of what is released in the same batch: %v", r.err)
			}
			if a, b := <-first, <-second; !(a.err == nil && errors.Is(b.err, driver.ErrHeld)) {
				t.Errorf("takes by two owners: %v and %v, want a yes and a no", a.err, b.err)
			}
			if a, b := <-took, <-tookAgain; a.err != nil || b.err != nil || a.Token != b.Token {
				t.Errorf("two takes by one owner: %d, %v and %d, %v, want the same twice", a.Token, a.err, b.Token,
					b.err)
			}
			if _, batches := c.sent(); !slices.Equal(batches, []int{7}) {
				t.Errorf("the requests went in scripts of %v, want one of 7", batches)
			}
			for _, r := range []driver.Request{next, one, again} {
				release(t, e, r)
			}
			if keys := keysWith(t, s, "string.find(key, '^lock:"+kind+"')"); len(keys) > 0 {
				t.Errorf("this is left behind: %q", keys)
			}
		})
	}
}

// The number of requests in a script is limited: the server does nothing else meanwhile.
func TestLongQueueGoesInSeveralBatches(t *testing.T) {
	t.Parallel()
	s := redisserver.ForTest(t, redisserver.Config{})
	e, c := openCounted(t, standalone(s), redis.WithoutFailoverGuard())
	var results []<-chan result
	requests := make([]driver.Request, 300)
	c.sendAsOneBatch(t, func() {
		for i := range requests {
			requests[i] = lasting(fmt.Sprint(i), time.Minute)
			results = append(results, startTake(e, requests[i]))
		}
	})
	for _, got := range results {
		if r := <-got; r.err != nil {
			t.Error(r.err)
		}
	}
	_, batches := c.sent()
	sum := 0
	for _, n := range batches {
		sum += n
	}
	if sum != len(requests) || slices.Max(batches) != 64 {
		t.Errorf("the requests went in scripts of %v, want %d in all and at most 64 in each", batches, len(requests))
	}
	c.sendAsOneBatch(t, func() {
		for i := range requests {
			results[i] = startRelease(e, requests[i])
		}
	})
	for _, got := range results {
		if r := <-got; r.err != nil {
			t.Error(r.err)
		}
	}
	checkNothingLeft(t, s)
}

// A user who lacks the right to one name of a batch is granted the others.
func TestNoRightToOneNameOfABatch(t *testing.T) {
	t.Parallel()
	s := redisserver.ForTest(t, redisserver.Config{})
	addUser(t, s, "some", []string{"+@all", "~*other*", "~*known*", "~*nobody*", "~*mine*", "&*"})
	for kind, client := range map[string]newClient{"Plain": asUser(s, "some"),
		"AutoPipeline": pipelined(asUser(s, "some"))} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			e, c := openCounted(t, client, redis.WithoutFailoverGuard())
			beside := unguarded(t, standalone(s))
			held, notMine := lasting(kind+" mine held", time.Minute), lasting(kind+" his", time.Minute)
			mustTake(t, beside, held)
			mustTake(t, beside, notMine)
			mine, his := lasting(kind+" mine", time.Minute), lasting(kind+" his too", time.Minute)
			var good, bad []<-chan result
			c.sendAsOneBatch(t, func() {
				good = append(good, startTake(e, mine), startRelease(e, held))
				bad = append(bad, startTake(e, his), startRelease(e, notMine))
			})
			for _, got := range good {
				if r := <-got; r.err != nil {
					t.Errorf("a name to which the user has a right: %v", r.err)
				}
			}
			for _, got := range bad {
				if r := <-got; !driver.IsPermanent(r.err) || !strings.Contains(r.err.Error(), "NOPERM") {
					t.Errorf("a name to which the user has no right: %v, want NOPERM", r.err)
				}
			}
			if keys := keysWith(t, s, "key == 'lock:"+his.Name+"'"); len(keys) > 0 {
				t.Errorf("there is %q", keys)
			}
		})
	}
}

// A batch that a server refuses as a whole has had no effect, and other commands on the same connection get their own
// answers.
func TestServerThatRefusesABatch(t *testing.T) {
	t.Parallel()
	for name, refuse := range map[string]func(t *testing.T, s *redisserver.Server){
		"READONLY": func(t *testing.T, s *redisserver.Server) { command(t, s, "REPLICAOF", "127.0.0.1", "1") },
		"OOM":      func(t *testing.T, s *redisserver.Server) { command(t, s, "CONFIG", "SET", "maxmemory", "1") },
		"NOREPLICAS": func(t *testing.T, s *redisserver.Server) {
			command(t, s, "CONFIG", "SET", "min-replicas-to-write", "1")
		},
	} {
		for _, kind := range []string{"Plain", "AutoPipeline"} {
			t.Run(kind+"/"+name, func(t *testing.T) {
				t.Parallel()
				s := redisserver.ForTest(t, redisserver.Config{})
				var below goredis.UniversalClient
				e, c := openCounted(t, func(t *testing.T) goredis.UniversalClient {
					below = standaloneClients(s)[kind](t)
					return below
				}, redis.WithoutFailoverGuard())
				var results []<-chan result
				echoes := make(chan error, 100)
				c.sendAsOneBatch(t, func() {
					refuse(t, s)
					for i := range 10 {
						results = append(results, startTake(e, lasting(fmt.Sprint(i), time.Minute)))
					}
					for i := range cap(echoes) {
						go func() {
							word := fmt.Sprint("word ", i)
							answer, err := below.Echo(t.Context(), word).Result()
							if err == nil && answer != word {
								err = fmt.Errorf("the answer is %q", answer)
							}
							echoes <- err
						}()
					}
				})
				for _, got := range results {
					if r := <-got; r.err == nil || driver.IsNo(r.err) || !driver.HadNoEffect(r.err) ||
						driver.IsPermanent(r.err) || !strings.Contains(r.err.Error(), name) {
						t.Errorf("%v (no effect: %v)", r.err, driver.HadNoEffect(r.err))
					}
				}
				if name == "READONLY" && len(c.failures()) == 0 {
					t.Error("the client does not see that it asks a replica, and will go on doing so")
				}
				for range cap(echoes) {
					if err := <-echoes; err != nil {
						t.Errorf("a command beside the batch: %v", err)
					}
				}
				checkNothingLeft(t, s)
			})
		}
	}
}

// While grants are closed, a batch may release locks although its takes are refused.
func TestBatchWhileGrantsAreClosed(t *testing.T) {
	t.Parallel()
	s := redisserver.ForTest(t, redisserver.Config{})
	for kind, client := range standaloneClients(s) {
		// not in parallel: on a busy machine it would start when the server has run for a minute
		t.Run(kind, func(t *testing.T) {
			e, c := openCounted(t, client)
			beside := unguarded(t, standalone(s))
			held := lasting(kind+" held", time.Minute)
			mustTake(t, beside, held)
			if _, err := e.Server(t.Context()); err != nil {
				t.Fatal(err)
			}
			_ = e.Release(t.Context(), driver.Release{Hold: hold(lasting("known", time.Minute))})
			var taken, released <-chan result
			c.whileSendersBusy(t, func() {
				taken, released = startTake(e, lasting(kind+" free", time.Minute)), startRelease(e, held)
			})
			r := <-taken
			if _, closed := errors.AsType[*redis.ClosedError](r.err); !closed || !driver.HadNoEffect(r.err) {
				t.Errorf("take: %v, want that grants are closed", r.err)
			}
			if r := <-released; r.err != nil {
				t.Errorf("release: %v", r.err)
			}
			if keys := keysWith(t, s, "key == 'lock:"+kind+" free' or key == 'lock:"+kind+" held'"); len(keys) > 0 {
				t.Errorf("this is left behind: %q", keys)
			}
		})
	}
}

// refusedFor accepts a refusal that says how long the other lease still lasts, within limits.
func refusedFor(minimum, maximum time.Duration) func(result) bool {
	return func(r result) bool {
		held, ok := errors.AsType[*driver.HeldError](r.err)
		return ok && held.Left >= minimum && held.Left <= maximum
	}
}
