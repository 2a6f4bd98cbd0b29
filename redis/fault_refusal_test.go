package redis_test

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/internal/redisserver"
	"github.com/leasehold-go/leasehold/redis"
)

// checkRefused fails the test unless an error contains a word and says that a request was refused without effect, but
// may be tried again.
func checkRefused(t *testing.T, what string, err error, word string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), word) || !driver.HadNoEffect(err) || driver.IsNo(err) ||
		driver.IsPermanent(err) {
		t.Errorf("%s: %v (no effect: %v, permanent: %v), want %s, no effect, not permanent", what, err,
			driver.HadNoEffect(err), driver.IsPermanent(err), word)
	}
}

func shared(r driver.Request) driver.Request {
	r.Mode = driver.Shared
	return r
}

// permit turns a request into one for a permit of a semaphore that has two.
func permit(r driver.Request) driver.Request {
	r.Kind, r.Size = driver.Semaphore, 2
	return r
}

// A server without memory grants nothing, and says so. Leases are renewed, released and handed over nevertheless.
func TestOutOfMemory(t *testing.T) {
	t.Parallel()
	s := redisserver.ForTest(t, redisserver.Config{})
	e := unguarded(t, noRetries(s.Addr()))
	held := []driver.Request{lasting("a", time.Minute), shared(lasting("b", time.Minute)),
		permit(lasting("c", time.Minute))}
	for _, r := range held {
		mustTake(t, e, r)
	}
	next := mustJoin(t, e, lasting("a", time.Minute))
	got := make(chan grant, 1)
	go func() {
		g, err := takeDespiteErrors(t.Context(), e, next)
		got <- grant{g, err, time.Now()}
	}()

	command(t, s, "CONFIG", "SET", "maxmemory", "1")
	for what, r := range map[string]driver.Request{
		"take":                 lock("new"),
		"take to read":         shared(lock("new")),
		"read with others":     shared(lock("b")),
		"take a permit":        permit(lock("new")),
		"take one more permit": permit(lock("c")),
	} {
		for _, r.Join = range []bool{false, true} {
			_, err := e.Take(t.Context(), r)
			checkRefused(t, what, err, "OOM")
		}
	}
	late := lock("a")
	late.Join = true
	_, err := e.Take(t.Context(), late)
	checkRefused(t, "join", err, "OOM")
	_, err = e.TakeAll(t.Context(), []driver.Request{lock("new"), lock("newer")})
	checkRefused(t, "take all", err, "OOM")
	// it has to identify the server first, and to write its marker
	renewer := open(t, noRetries(s.Addr()), redis.WithMaxTTL(time.Minute))
	for _, r := range held {
		for _, e := range []*redis.Engine{e, renewer} {
			if err := renewOne(t.Context(), e, hold(r), time.Minute); err != nil {
				t.Errorf("renewal of %v %q: %v", r.Kind, r.Name, err)
			}
		}
		release(t, e, r)
	}
	granted(t, got)
	if err := renewOne(t.Context(), e, hold(next), time.Minute); err != nil {
		t.Errorf("renewal after the hand-over: %v", err)
	}
	release(t, e, next)
	checkNothingLeft(t, s)

	command(t, s, "CONFIG", "SET", "maxmemory", "0")
	r := lock("new")
	mustTake(t, e, r)
	release(t, e, r)
}

// A server that loads its data says so. A waiter goes on when the data is loaded.
func TestLoading(t *testing.T) {
	t.Parallel()
	s := redisserver.ForTest(t, redisserver.Config{Lines: []string{"save 3600 1", "key-load-delay 20000",
		"rdbcompression no", "loading-process-events-interval-bytes 1024"}})
	e := unguarded(t, noRetries(s.Addr()))
	holder := lasting("a", time.Minute)
	mustTake(t, e, holder)
	waiting := make(chan error, 1)
	r := lasting("a", time.Minute)
	mustJoin(t, e, r)
	go func() {
		_, err := takeDespiteErrors(t.Context(), e, r)
		waiting <- err
	}()
	command(t, s, "DEBUG", "POPULATE", "50", "key", "1000")
	if err := s.Stop(); err != nil {
		t.Fatal(err)
	}
	if err := s.RestartLoading(); err != nil {
		t.Fatal(err)
	}
	for what, ask := range map[string]func() error{
		"take":    func() error { _, err := e.Take(t.Context(), lock("new")); return err },
		"renew":   func() error { return renewOne(t.Context(), e, hold(holder), time.Minute) },
		"release": func() error { return e.Release(t.Context(), driver.Release{Hold: hold(holder)}) },
	} {
		err := ask()
		if loading, _ := s.Info("loading"); loading != "1" {
			t.Skip("the server has loaded its data before it could be asked")
		}
		checkRefused(t, what, err, "LOADING")
	}
	if err := s.AwaitInfo("loading", "0"); err != nil {
		t.Fatal(err)
	}
	if err := renewOne(t.Context(), e, hold(holder), time.Minute); err != nil {
		t.Errorf("renewal of what was saved: %v", err)
	}
	release(t, e, holder)
	if err := <-waiting; err != nil {
		t.Errorf("the waiter: %v", err)
	}
	release(t, e, r)
}

// A server that has become a replica says so, and never that something is not held.
func TestReadOnly(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		word  string
		lines []string
	}{
		"READONLY":   {"READONLY", nil},
		"MASTERDOWN": {"MASTERDOWN", []string{"replica-serve-stale-data no"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := redisserver.ForTest(t, redisserver.Config{Lines: c.lines})
			e := unguarded(t, noRetries(s.Addr()))
			holder := lasting("a", time.Minute)
			mustTake(t, e, holder)
			nobody, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			defer nobody.Close()
			_, port, _ := net.SplitHostPort(nobody.Addr().String())
			command(t, s, "REPLICAOF", "127.0.0.1", port)
			_, err = e.Take(t.Context(), lock("new"))
			checkRefused(t, "take", err, c.word)
			checkRefused(t, "renew", renewOne(t.Context(), e, hold(holder), time.Minute), c.word)
			checkRefused(t, "release", e.Release(t.Context(), driver.Release{Hold: hold(holder)}), c.word)
			checkRefused(t, "release of what is not held",
				e.Release(t.Context(), driver.Release{Hold: hold(lock("b"))}), c.word)
			command(t, s, "REPLICAOF", "NO", "ONE")
			if err := renewOne(t.Context(), e, hold(holder), time.Minute); err != nil {
				t.Errorf("renewal after that: %v", err)
			}
			release(t, e, holder)
			checkNothingLeft(t, s)
		})
	}
}

// A server that cannot save its data, and therefore refuses to write, says so.
func TestCannotSave(t *testing.T) {
	t.Parallel()
	s := redisserver.ForTest(t, redisserver.Config{Lines: []string{"save 3600 1"}})
	e := unguarded(t, noRetries(s.Addr()))
	holder := lasting("a", time.Minute)
	mustTake(t, e, holder)
	obstacle := filepath.Join(s.Dir(), "dump.rdb")
	if err := os.Mkdir(obstacle, 0o700); err != nil {
		t.Fatal(err)
	}
	command(t, s, "BGSAVE")
	if err := s.AwaitInfo("rdb_last_bgsave_status", "err"); err != nil {
		t.Fatal(err)
	}
	_, err := e.Take(t.Context(), lock("new"))
	checkRefused(t, "take", err, "MISCONF")
	checkRefused(t, "renew", renewOne(t.Context(), e, hold(holder), time.Minute), "MISCONF")
	checkRefused(t, "release", e.Release(t.Context(), driver.Release{Hold: hold(holder)}), "MISCONF")
	if err := os.Remove(obstacle); err != nil {
		t.Fatal(err)
	}
	command(t, s, "BGSAVE")
	if err := s.AwaitInfo("rdb_last_bgsave_status", "ok"); err != nil {
		t.Fatal(err)
	}
	release(t, e, holder)
	checkNothingLeft(t, s)
}

// Keys that hold data of another program are left alone and reported. Nothing is left behind next to them.
func TestWrongType(t *testing.T) {
	t.Parallel()
	s := redisserver.ForTest(t, redisserver.Config{})
	e := unguarded(t, noRetries(s.Addr()))
	fine := lasting("fine", time.Hour)
	mustTake(t, e, fine)
	for _, kind := range [][]string{{"RPUSH", "x"}, {"HSET", "x", "y"}, {"ZADD", "1", "x"}, {"SET", "x"}} {
		for _, key := range []string{"lock:N", "{lock:N}:token", "{lock:N}:queue", "{lock:N}:holders", "{lock:N}:info",
			"{lock:N}:permits", "{lock:N}:permits-holders", "{lock:N}:permits-info", "{lock:N}:permits-queue",
			"{lock:N}:latch"} {
			name := strings.ToLower(kind[0] + " " + strings.NewReplacer("{", "", "}", "", "N", "").Replace(key))
			key = strings.Replace(key, "N", name, 1)
			command(t, s, append([]string{kind[0], key}, kind[1:]...)...)
			for _, r := range []driver.Request{lock(name), shared(lock(name)), permit(lock(name))} {
				for _, r.Join = range []bool{false, true} {
					if _, err := e.Take(t.Context(), r); driver.IsPermanent(err) && key != "lock:"+name &&
						command(t, s, "EXISTS", "lock:"+name) != int64(0) {
						t.Errorf("%s: a Take without effect has taken the lock", key)
					}
					for _, err := range wrongTypeOps(t.Context(), e, r) {
						if err != nil && !driver.IsNo(err) &&
							(!driver.IsPermanent(err) || !strings.Contains(err.Error(), "another program")) {
							t.Errorf("%s, %v: %v, want an answer, or a permanent error that says why", key, r.Mode, err)
						}
					}
				}
			}
			command(t, s, "DEL", key)
		}
	}
	for began := time.Now(); ; <-time.After(10 * time.Millisecond) {
		found, err := e.List(t.Context(), driver.Query{})
		if err == nil && len(found) == 1 && found[0].Name == "fine" { // the last latch is over
			break
		}
		if time.Since(began) > patience {
			t.Fatalf("listed %+v, %v, want the lock of this test alone", found, err)
		}
	}
	release(t, e, fine)
	checkNothingLeft(t, s)
}

// wrongTypeOps performs every operation on a name, and returns the errors.
func wrongTypeOps(ctx context.Context, e *redis.Engine, r driver.Request) (errs []error) {
	_, err := e.Take(ctx, r)
	errs = append(errs, err, renewOne(ctx, e, hold(r), time.Second))
	all := []driver.Request{lock(r.Name), lock(r.Name + " and more")}
	_, err = e.TakeAll(ctx, all)
	errs = append(errs, err)
	for _, r := range all {
		if no := e.Release(ctx, driver.Release{Hold: hold(r)}); driver.HadNoEffect(err) && no == nil {
			errs = append(errs, errors.New("a TakeAll without effect has taken a lock"))
		}
	}
	_, err = e.TrySet(ctx, driver.LatchSet{Name: r.Name, ID: r.Owner, Count: 1, TTL: 100 * time.Millisecond})
	errs = append(errs, err)
	_, err = e.CountDown(ctx, driver.LatchDown{Name: r.Name, ID: r.Owner, TTL: 100 * time.Millisecond})
	errs = append(errs, err)
	_, err = e.LatchState(ctx, r.Name)
	errs = append(errs, err)
	if r.Kind == driver.Lock {
		errs = append(errs, e.Downgrade(ctx, hold(r)))
	}
	_, err = e.List(ctx, driver.Query{Name: r.Name, Queue: true})
	errs = append(errs, err)
	_, err = e.List(ctx, driver.Query{Queue: true})
	if err != nil {
		errs = append(errs, errors.New("one damaged key makes the listing of all fail: "+err.Error()))
	}
	return append(errs, e.ForceRelease(ctx, r.Key, 1), e.Release(ctx, driver.Release{Hold: hold(r)}))
}
