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

// snapshot is everything that a server keeps.
func snapshot(t *testing.T, s *redisserver.Server) string {
	t.Helper()
	return fmt.Sprint(command(t, s, "EVAL", `local all = {}
for _, key in ipairs(redis.call('KEYS', '*')) do
  table.insert(all, key .. ' ' .. redis.sha1hex(redis.call('DUMP', key)) .. ' ' .. redis.call('PEXPIRETIME', key))
end
table.sort(all)
return table.concat(all, '\n')`, "0"))
}

// tryWrites tries all ways to change something on an engine, and returns the errors.
func tryWrites(ctx context.Context, e *redis.Engine, held driver.Request, token uint64,
	leak driver.Leak) map[string]error {
	mine := lasting("another", time.Minute)
	_, take := e.Take(ctx, mine)
	_, all := e.TakeAll(ctx, []driver.Request{lasting("one", time.Minute), lasting("two", time.Minute)})
	_, opened := e.OpenNow(ctx, "anna: a test")
	_, set := e.TrySet(ctx, driver.LatchSet{Name: "another", ID: "1", Count: 1, TTL: time.Minute})
	_, down := e.CountDown(ctx, driver.LatchDown{Name: "a", ID: "2", TTL: time.Minute})
	return map[string]error{
		"take": take, "take all": all, "open": opened, "set a latch": set, "count down": down,
		"renew": renewOne(ctx, e, hold(held), time.Hour), "release": e.Release(ctx, driver.Release{Hold: hold(held)}),
		"downgrade": e.Downgrade(ctx, hold(held)), "force": e.ForceRelease(ctx, held.Key, token),
		"record": e.Record(ctx, removal("2", driver.Asked)), "sweep": e.Sweep(ctx, leak),
	}
}

// A read-only user can change nothing, whatever it tries: neither a lock whose owner it knows, nor the marker of a
// server without a record of earlier use.
func TestReadOnlyUsersChangeNothing(t *testing.T) {
	t.Parallel()
	s := redisserver.ForTest(t, redisserver.Config{})
	addUser(t, s, "look", documentedRights(t, "look"))
	as := func() *redis.Engine {
		return openURL(t, "redis://look:"+userPassword+"@"+s.Addr())
	}
	e := as()
	if page, err := e.List(t.Context(), driver.Query{}); err != nil || len(page) != 0 {
		t.Fatalf("listed %v, %v", page, err)
	}
	if opens, err := e.Opens(t.Context()); err != nil || time.Until(opens) < 50*time.Second {
		t.Errorf("a server without a record of earlier use opens at %v, %v; want a minute after the first request "+
			"for a lock", opens, err)
	}
	if _, err := e.Examine(t.Context()); err != nil {
		t.Error(err)
	}
	if is := snapshot(t, s); is != "" {
		t.Errorf("a read-only user has left %q", is)
	}

	trust(t, s)
	admin := open(t, standalone(s))
	held := lasting("a", time.Hour/60)
	token := mustTake(t, admin, held).Token
	latch := driver.LatchSet{Name: "a", ID: "1", Count: 1, TTL: time.Minute}
	if _, err := admin.TrySet(t.Context(), latch); err != nil {
		t.Fatal(err)
	}
	command(t, s, "SET", "lock:b", "of another kind")
	endless := onlyLeak(t, admin, "b")
	before := snapshot(t, s)
	for what, err := range tryWrites(t.Context(), e, held, token, endless) {
		denied, isNamed := errors.AsType[*redis.RightsError](err)
		if !isNamed || !driver.IsPermanent(err) || !slices.Equal(denied.Missing, []string{"+evalsha"}) ||
			!strings.Contains(err.Error(), "smallest rights in docs/engines/redis.md") {
			t.Errorf("%s: %v, want a permanent error that says which right is missing, and where that is documented",
				what, err)
		}
	}
	client := asUser(s, "look")(t)
	write := "return redis.call('DEL', 'lock:a')"
	sha := fmt.Sprint(command(t, s, "SCRIPT", "LOAD", write))
	for _, words := range []string{
		"SET lock:a mine", "DEL lock:a", "PEXPIRE lock:a 1", "GETDEL lock:a", "GETEX lock:a PX 1", "COPY lock:a lock:b",
		"RENAME lock:a lock:b", "UNLINK lock:a", "RESTORE lock:c 0 x",
		"EVALSHA " + sha + " 1 lock:a", "EVALSHA_RO " + sha + " 1 lock:a", "EVALSHA_RO " + sha + " 0", "FCALL f 0",
		"PUBLISH lock:wake:x g", "FLUSHALL", "FLUSHDB",
		"CONFIG SET maxmemory 1", "ACL SETUSER look +@all", "CLIENT KILL TYPE normal", "DEBUG RELOAD", "SHUTDOWN",
		"KEYS *", "GET other",
	} {
		var all []any
		for word := range strings.FieldsSeq(words) {
			all = append(all, word)
		}
		if err := client.Do(t.Context(), all...).Err(); err == nil {
			t.Errorf("%s is allowed", words)
		}
	}
	if is := snapshot(t, s); is != before {
		t.Errorf("a read-only user has changed\n%s\nto\n%s", before, is)
	}
}

// A program that locks cannot touch removal records, and none of the sets allows commands on keys other than those of
// locks.
func TestSetsOfRightsAreLimited(t *testing.T) {
	t.Parallel()
	s := redisserver.ForTest(t, redisserver.Config{})
	trust(t, s)
	admin := open(t, standalone(s))
	if err := admin.Record(t.Context(), removal("1", driver.Removed)); err != nil {
		t.Fatal(err)
	}
	command(t, s, "SET", "other", "1")
	before := snapshot(t, s)
	for _, role := range []string{"lock", "operate"} {
		addUser(t, s, role, documentedRights(t, role))
		client := asUser(s, role)(t)
		commands := []string{"SET other 2", "GET other", "DEL other", "FLUSHALL", "KEYS *", "CONFIG SET maxmemory 1",
			"ACL SETUSER x on", "SHUTDOWN", "DEBUG RELOAD", "SUBSCRIBE other", "PUBLISH other x"}
		if role == "lock" {
			e := openURL(t, "redis://lock:"+userPassword+"@"+s.Addr())
			_, read := e.Records(t.Context(), 0)
			_, list := e.List(t.Context(), driver.Query{})
			for what, err := range map[string]error{"record": e.Record(t.Context(), removal("2", driver.Asked)),
				"read the record": read, "list": list} {
				if !driver.IsPermanent(err) ||
					!strings.Contains(err.Error(), "smallest rights in docs/engines/redis.md") {
					t.Errorf("%s: %v, want a permanent error that says where the rights are documented", what, err)
				}
			}
			commands = append(commands, "DEL {lock:}:removals", "HDEL {lock:}:removal-texts 1", "SCAN 0",
				"CONFIG GET save")
		}
		for _, words := range commands {
			var all []any
			for word := range strings.FieldsSeq(words) {
				all = append(all, word)
			}
			if err := client.Do(t.Context(), all...).Err(); err == nil {
				t.Errorf("%s may %s", role, words)
			}
		}
	}
	if is := snapshot(t, s); is != before {
		t.Errorf("changed\n%s\nto\n%s", before, is)
	}
}

// A Cluster needs further rights, each of them.
func TestEachSetOfRightsInACluster(t *testing.T) {
	t.Parallel()
	c := redisserver.ClusterForTest(t, 3, 0, redisserver.Config{Lines: persistentLines})
	admin := openURL(t, "redis+cluster://"+strings.Join(c.Addrs(), ",")+longTimeouts+"&guard=off")
	raw := cluster(c)(t)
	do := map[string]func(ctx context.Context, e *redis.Engine, name string) error{
		"look": func(ctx context.Context, e *redis.Engine, _ string) error {
			_, err := e.List(ctx, driver.Query{})
			return err
		},
		"lock": func(ctx context.Context, e *redis.Engine, name string) error {
			return asLocker(ctx, rightsTask{engine: e, name: name})
		},
		"operate": func(ctx context.Context, e *redis.Engine, name string) error {
			held := lasting(name, time.Minute)
			token := mustTake(t, admin, held).Token
			_, err := e.OpenNow(ctx, "anna: a test")
			if err == nil {
				err = e.Record(ctx, removal(name, driver.Asked))
			}
			if err == nil {
				err = e.ForceRelease(ctx, held.Key, token)
			}
			if err := raw.HSet(ctx, "{lock:"+name+"}:latch", "generation", "1", "left", "1").Err(); err != nil {
				t.Fatal(err)
			}
			leaks, wrong := findLeaks(ctx, e, driver.Query{Name: name})
			for _, l := range leaks {
				wrong = errors.Join(wrong, e.Sweep(ctx, l))
			}
			return errors.Join(err, wrong)
		},
	}
	symptoms := func(t *testing.T, role, user string, rights []string) (all []string) {
		for _, node := range c.Nodes {
			addUser(t, node, user, rights)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 5*patience)
		defer cancel()
		url := "redis+cluster://" + user + ":" + userPassword + "@" + strings.Join(c.Addrs(), ",") + longTimeouts
		e := openURL(t, url+"&guard=off")
		if role == "operate" {
			e = openURL(t, url)
		}
		if err := retryUnanswered(ctx, user, func(name string) error { return do[role](ctx, e, name) }); err != nil {
			all = append(all, "error "+err.Error())
		}
		x, err := examineAnswered(ctx, e)
		if err != nil {
			all = append(all, "error "+err.Error())
		}
		for _, f := range x.Findings {
			if f.Code != "guard-off" && f.Severity > driver.Note || strings.HasPrefix(f.Code, "rights") {
				all = append(all, f.Code+": "+f.Fix)
			}
		}
		for _, node := range c.Nodes {
			all = append(all, refusedCommands(t, node, user)...)
		}
		slices.Sort(all)
		return slices.Compact(all)
	}
	for role := range do {
		all := documentedRights(t, role)
		var words []string
		for _, word := range inACluster {
			if slices.Contains(all, word) {
				words = append(words, word)
			}
		}
		t.Run(role, func(t *testing.T) {
			t.Parallel()
			whole := symptoms(t, role, role+"-all-", all)
			if strings.Contains(strings.Join(whole, " "), "error") {
				t.Fatalf("with all rights: %q", whole)
			}
			for i, word := range words {
				got := symptoms(t, role, fmt.Sprintf("%s-%d-", role, i),
					slices.DeleteFunc(slices.Clone(all), func(w string) bool { return w == word }))
				if slices.Equal(got, whole) {
					t.Errorf("no sign that %s is missing: %q", word, got)
				}
			}
		})
	}
}

// Without the right to WAIT, doctor reports it, and a lock that needs confirmation is refused.
func TestRightToWaitForReplicas(t *testing.T) {
	t.Parallel()
	r := redisserver.ReplicatedForTest(t, 1, redisserver.Config{})
	trust(t, r.Master)
	all := documentedRights(t, "lock")
	addUser(t, r.Master, "all", all)
	addUser(t, r.Master, "hasty",
		slices.DeleteFunc(slices.Clone(all), func(word string) bool { return word == "+wait" }))
	for user, may := range map[string]bool{"all": true, "hasty": false} {
		e := open(t, asUser(r.Master, user), redis.WithReplicas(1, 5*time.Second))
		_, err := e.Take(t.Context(), lasting(user, time.Minute))
		if (err == nil) != may || err != nil && !strings.Contains(err.Error(), "smallest rights") {
			t.Errorf("%s: %v", user, err)
		}
		if errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%s waited for nothing", user)
		}
	}
}

// Rights to lock or read can be limited to some names. Other names are refused, and the error has their keys.
func TestRightsToSomeNames(t *testing.T) {
	t.Parallel()
	s := redisserver.ForTest(t, redisserver.Config{})
	trust(t, s)
	for role, keys := range map[string][]string{
		"lock": {"~lock:shop:*", "~{lock:shop:*", "~{lock:}:guard"},
		"look": {"%R~lock:shop:*", "%R~{lock:shop:*"},
	} {
		rights := slices.DeleteFunc(documentedRights(t, role),
			func(word string) bool { return strings.Contains(word, "~") })
		addUser(t, s, role, append(rights, keys...))
	}
	e := openURL(t, "redis://lock:"+userPassword+"@"+s.Addr())
	mustTake(t, e, lasting("shop:1", time.Minute))
	_, err := e.Take(t.Context(), lasting("carts:1", time.Minute))
	if denied, isNamed := errors.AsType[*redis.RightsError](err); !isNamed ||
		!slices.Equal(denied.Missing, []string{"~lock:carts:1", "~{lock:carts:1}:*"}) {
		t.Errorf("a lock of another name: %v", err)
	}
	e = openURL(t, "redis://look:"+userPassword+"@"+s.Addr())
	if page, err := e.List(t.Context(), driver.Query{Prefix: "shop:"}); err != nil || len(page) != 1 {
		t.Errorf("listed %v, %v", page, err)
	}
	_, err = e.List(t.Context(), driver.Query{Name: "carts:1"})
	if denied, isNamed := errors.AsType[*redis.RightsError](err); !isNamed ||
		!slices.Equal(denied.Missing, []string{"%R~lock:carts:1", "%R~{lock:carts:1}:*"}) {
		t.Errorf("a listing of another name: %v", err)
	}
}
