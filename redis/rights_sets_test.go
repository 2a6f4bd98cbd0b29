package redis_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/internal/redisserver"
	"github.com/leasehold-go/leasehold/redis"
)

// sets are the sets of rights on the page of the engine.
var sets = []string{"look", "lock", "operate", "doctor"}

// documentedRights are the words of one of the sets of rights on the page of the engine.
func documentedRights(t *testing.T, set string) (words []string) {
	t.Helper()
	page, err := os.ReadFile("../docs/engines/redis.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, found := strings.Cut(string(page), "```\n# "+set+": ")
	text, _, ended := strings.Cut(rest, "```\n")
	if !found || !ended {
		t.Fatalf("the page has no rights for %s", set)
	}
	for line := range strings.Lines("# " + text) {
		if !strings.HasPrefix(line, "#") {
			words = append(words, strings.Fields(line)...)
		}
	}
	return words
}

// rightsTask is what a user does, with a prefix of names of its own.
type rightsTask struct {
	t      *testing.T
	s      *redisserver.Server
	admin  *redis.Engine // of a user with all rights
	engine *redis.Engine
	name   string
}

// asLooker does everything that reading needs. It returns the first error.
func asLooker(ctx context.Context, x rightsTask) error {
	for _, name := range []string{"a", "{x}a"} {
		for _, k := range []driver.Key{{Kind: driver.Lock, Name: name}, {Kind: driver.Semaphore, Name: name},
			{Kind: driver.Latch, Name: name}} {
			page, err := x.engine.List(ctx, driver.Query{Kind: k.Kind, Name: k.Name, Queue: true})
			if err == nil && len(page) != 1 {
				err = fmt.Errorf("%v is not listed", k)
			}
			if err != nil {
				return err
			}
		}
	}
	page, err := x.engine.List(ctx, driver.Query{})
	if err == nil && len(page) < 6 {
		err = fmt.Errorf("%d names are listed", len(page))
	}
	if err != nil {
		return err
	}
	leaks, err := findLeaks(ctx, x.engine, driver.Query{Prefix: "a"})
	if err == nil && len(leaks) == 0 {
		err = errors.New("a latch without an end is not found")
	}
	if err != nil {
		return err
	}
	removed, err := x.engine.Records(ctx, 0)
	if err == nil && len(removed) == 0 {
		err = fmt.Errorf("%d removals are listed", len(removed))
	}
	if err == nil {
		_, err = x.engine.LatchState(ctx, "a")
	}
	if err == nil {
		_, err = x.engine.Opens(ctx)
	}
	return err
}

// asLocker does everything that programs do with locks.
func asLocker(ctx context.Context, x rightsTask) error {
	a := x.engine
	for _, name := range []string{x.name, "{" + x.name + "}b"} {
		for _, mode := range []driver.Mode{driver.Exclusive, driver.Shared} {
			holder, waiter := lasting(name, time.Minute), lasting(name, time.Minute)
			holder.Mode, waiter.Join = mode, true
			if _, err := a.Take(ctx, holder); err != nil {
				return err
			}
			if err := renewOne(ctx, a, hold(holder), time.Minute); err != nil {
				return err
			}
			if _, err := a.Take(ctx, waiter); !errors.Is(err, driver.ErrHeld) {
				return fmt.Errorf("Take of what is held: %w", err)
			}
			waited := make(chan error, 1)
			go func() {
				_, err := a.Wait(ctx, waiter)
				waited <- err
			}()
			if err := a.Release(ctx, driver.Release{Hold: hold(holder)}); err != nil {
				return err
			}
			if err := <-waited; err != nil {
				return err
			}
			// after a wait, the first lease is short
			if err := a.Downgrade(ctx, hold(waiter)); err != nil && !driver.IsNo(err) {
				return err
			}
			down := hold(waiter)
			down.Mode = driver.Shared
			if err := a.Release(ctx, driver.Release{Hold: down}); err != nil && !driver.IsNo(err) {
				return err
			}
		}
		permit := lasting(name, time.Minute)
		permit.Kind, permit.Size = driver.Semaphore, 2
		if _, err := a.Take(ctx, permit); err != nil {
			return err
		}
		if err := a.Release(ctx, driver.Release{Hold: hold(permit)}); err != nil {
			return err
		}
		if _, err := a.TrySet(ctx, driver.LatchSet{Name: name, ID: "1", Count: 1, TTL: time.Minute}); err != nil {
			return err
		}
		st, err := a.LatchState(ctx, name)
		if err != nil {
			return err
		}
		waited := make(chan error, 1)
		go func() { waited <- a.WaitLatch(ctx, name, st.Generation) }()
		if _, err := a.CountDown(ctx, driver.LatchDown{Name: name, ID: "2", TTL: time.Minute}); err != nil {
			return err
		}
		if err := <-waited; err != nil {
			return err
		}
	}
	return nil
}

// asOperator releases locks by force, and sweeps leaks.
func asOperator(ctx context.Context, x rightsTask) error {
	holder := lasting(x.name, time.Minute)
	mustTake(x.t, x.admin, holder)
	mustTake(x.t, x.admin, lasting(x.name+"queue", time.Minute))
	endless := []string{"{lock:" + x.name + "}:latch", "{" + x.name + "}lock:{" + x.name + "}b:latch"}
	for _, key := range endless {
		command(x.t, x.s, "HSET", key, "generation", "1", "left", "1")
	}
	addWaiters(x.t, x.s, x.name+"queue", 2, "P", 2*time.Minute)
	if _, err := x.engine.OpenNow(ctx, "anna: a test"); err != nil {
		return err
	}
	st, err := x.engine.List(ctx, driver.Query{Prefix: x.name})
	if err != nil {
		return err
	}
	if len(st) == 0 || len(st[0].Holders) != 1 {
		return fmt.Errorf("the holder is not listed: %+v", st)
	}
	r := removal(x.name, driver.Asked)
	if err := x.engine.Record(ctx, r); err != nil {
		return err
	}
	if err := x.engine.ForceRelease(ctx, holder.Key, st[0].Holders[0].Token); err != nil {
		return err
	}
	leaks, err := findLeaks(ctx, x.engine, driver.Query{Prefix: x.name})
	if err == nil && len(leaks) != 2 {
		err = fmt.Errorf("the leaks are %+v, want waiters and a latch", leaks)
	}
	other, wrong := findLeaks(ctx, x.engine, driver.Query{Name: "{" + x.name + "}b"})
	for _, l := range append(leaks, other...) {
		if err == nil {
			err = x.engine.Sweep(ctx, l)
		}
	}
	return errors.Join(err, wrong)
}

// roles has the sets of rights, with what each is for.
var roles = map[string]func(context.Context, rightsTask) error{"look": asLooker, "lock": asLocker,
	"operate": asOperator, "doctor": asDoctor}

// asDoctor does nothing: all roles are examined anyway.
func asDoctor(context.Context, rightsTask) error { return nil }

// inACluster are the rights that only a Cluster needs, and onReplicas those of WithReplicas.
var (
	inACluster = strings.Fields("+spublish +ssubscribe +sunsubscribe +cluster|nodes +cluster|slots +asking")
	onReplicas = []string{"+wait"}
)

// rightsTest is a server for users with sets of rights.
type rightsTest struct {
	server *redisserver.Server
	admin  *redis.Engine
}

// newRightsTest starts a server on which there is something of everything to read.
func newRightsTest(t *testing.T) rightsTest {
	t.Helper()
	s := redisserver.ForTest(t, redisserver.Config{Lines: append([]string{"acllog-max-len 100000"},
		persistentLines...)})
	trust(t, s)
	const ttl = time.Hour // readers may have to wait for other tests first
	x := rightsTest{s, open(t, standalone(s), redis.WithMaxTTL(ttl))}
	for _, name := range []string{"a", "{x}a"} {
		reader := lasting(name, ttl)
		reader.Mode = driver.Shared
		mustTake(t, x.admin, reader)
		mustJoin(t, x.admin, lasting(name, ttl))
		permit := lasting(name, ttl)
		permit.Kind = driver.Semaphore
		mustTake(t, x.admin, permit)
		if _, err := x.admin.TrySet(t.Context(), driver.LatchSet{Name: name, ID: "1", Count: 1, TTL: ttl}); err != nil {
			t.Fatal(err)
		}
	}
	command(t, s, "HSET", "{lock:a-left}:latch", "generation", "1", "left", "1")
	if err := x.admin.Record(t.Context(), removal("1", driver.Removed)); err != nil {
		t.Fatal(err)
	}
	return x
}

// openAs opens an engine for a new user.
func (x rightsTest) openAs(t *testing.T, user string, rights []string) *redis.Engine {
	t.Helper()
	addUser(t, x.server, user, rights)
	return openURL(t, "redis://"+user+":"+userPassword+"@"+x.server.Addr()+longTimeouts)
}

// longTimeouts ends the URL of an engine that waits for its server even on a busy machine: a missing answer says
// nothing about rights.
const longTimeouts = "?timeout=1m&dial_timeout=1m"

// retryUnanswered plays a role, and again with another name if a server has not answered in time.
func retryUnanswered(ctx context.Context, name string, play func(name string) error) error {
	err := play(name)
	for again := 1; errors.Is(err, redis.ErrNoAnswer) && ctx.Err() == nil; again++ {
		err = play(fmt.Sprintf("%sagain-%d-", name, again))
	}
	return err
}

// examineAnswered examines an engine until its servers have answered in time.
func examineAnswered(ctx context.Context, e *redis.Engine) (driver.Examination, error) {
	for {
		x, err := e.Examine(ctx)
		silent := err != nil && !driver.IsPermanent(err) ||
			slices.ContainsFunc(x.Servers, func(p driver.Server) bool { return errors.Is(p.Err, driver.ErrSilent) })
		if !silent || ctx.Err() != nil {
			return x, err
		}
	}
}

// symptoms are the signs of a missing right when a role is played: an error, requests that the server has refused, and
// findings.
func (x rightsTest) symptoms(t *testing.T, role, user string, rights []string) (all []string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*patience)
	defer cancel()
	e := x.openAs(t, user, rights)
	err := retryUnanswered(ctx, user,
		func(name string) error { return roles[role](ctx, rightsTask{t, x.server, x.admin, e, name}) })
	if err != nil {
		all = append(all, "error: "+err.Error())
		if !driver.IsPermanent(err) && ctx.Err() != nil {
			t.Errorf("%s: no outcome in time: %v", user, err)
		}
	}
	seen, err := examineAnswered(ctx, e)
	if err != nil {
		all = append(all, "error: "+err.Error())
	}
	for _, f := range seen.Findings {
		all = append(all, f.Severity.String()+" "+f.Code)
	}
	all = append(all, refusedCommands(t, x.server, user)...)
	slices.Sort(all)
	return slices.Compact(all) // a request that is repeated is refused again
}

// refusedCommands are the commands that a server has refused a user, except those that connections do not need.
func refusedCommands(t *testing.T, s *redisserver.Server, user string) (all []string) {
	t.Helper()
	log, err := s.Command("ACL", "LOG", "100000")
	if err != nil {
		t.Fatal(err)
	}
	entries, _ := log.([]any)
	for _, entry := range entries {
		fields, _ := entry.([]any)
		is := map[string]string{}
		for i := 0; i+1 < len(fields); i += 2 {
			is[fmt.Sprint(fields[i])] = fmt.Sprint(fields[i+1])
		}
		if is["username"] == user && is["object"] != "client|setname" {
			all = append(all, "refused "+is["object"])
		}
	}
	return all
}

// Each set of rights on the page suffices for its purpose, and each of its words is needed: without it there is an
// error, a finding, or a command that the server has refused.
func TestEachSetOfRights(t *testing.T) {
	t.Parallel()
	x := newRightsTest(t)
	whole := map[string][]string{
		"look": {"note config-unreadable", "note rights-look", "refused config|get"},
		// doctor lists, which this user may not
		"lock":    {"note config-unreadable", "refused config|get", "warning rights-listing"},
		"operate": {"note config-unreadable", "note rights-spare", "refused config|get", "warning rights-messages"},
		"doctor":  {"note rights-look"},
	}
	for role := range roles {
		all := documentedRights(t, role)
		var besides []string
		if role == "doctor" {
			besides = documentedRights(t, "look")
		}
		t.Run(role, func(t *testing.T) {
			t.Parallel()
			got := x.symptoms(t, role, role+"-all-", slices.Concat(besides, all))
			if !slices.Equal(got, whole[role]) {
				t.Errorf("with all rights: %q, want %q", got, whole[role])
			}
		})
		for i, word := range all {
			if slices.Contains(inACluster, word) || slices.Contains(onReplicas, word) {
				continue
			}
			t.Run(role+" without "+word, func(t *testing.T) {
				t.Parallel()
				got := x.symptoms(t, role, fmt.Sprintf("%s-%d-", role, i), slices.Concat(besides, all[:i], all[i+1:]))
				if slices.Equal(got, whole[role]) {
					t.Error("no sign that it is missing")
				}
				for _, text := range got {
					names := strings.Contains(text, "lacks "+word)
					if strings.Contains(word, "~") { // instead of a pattern, the error has the keys of a name
						names = strings.Contains(text, "lacks ~") || strings.Contains(text, "lacks %R~")
					}
					if strings.HasPrefix(text, "error: redis") &&
						(!names || !strings.Contains(text, "smallest rights in docs/engines/redis.md")) {
						t.Errorf("%q does not say that %s is missing, or where the rights are documented", text, word)
					}
				}
			})
		}
	}
}
