package redisson_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/internal/redisserver"
	"github.com/leasehold-go/leasehold/redis/redisson"
)

// documentedRights are the words of one of the sets of rights in the documentation.
func documentedRights(t *testing.T, set string) (words []string) {
	t.Helper()
	page, err := os.ReadFile("../../docs/redisson.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, found := strings.Cut(string(page), "```\n# "+set+": ")
	text, _, ended := strings.Cut(rest, "```\n")
	if _, text, _ = strings.Cut(text, "\n"); !found || !ended {
		t.Fatalf("the page has no rights for %s", set)
	}
	return strings.Fields(text)
}

// asLooker reads everything there is.
func asLooker(ctx context.Context, engines []*redisson.Engine, _ string) (all []error) {
	for _, e := range engines {
		_, err := e.List(ctx, driver.Query{})
		all = append(all, err, e.Leaks(ctx, driver.Query{}, func(driver.Leak) bool { return true }))
		for _, kind := range []driver.Kind{driver.Lock, driver.Semaphore, driver.Latch} {
			_, err := e.List(ctx, driver.Query{Kind: kind, Name: fmt.Sprint(int(kind)), Queue: true})
			all = append(all, err)
		}
	}
	return all
}

// asLocker does what programs do, with names of its own.
func asLocker(ctx context.Context, engines []*redisson.Engine, id string) (all []error) {
	for i, e := range engines {
		k := driver.Key{Kind: driver.Lock, Name: fmt.Sprint(id, i)}
		request := func(owner string) driver.Request {
			return driver.Request{Key: k, Owner: owner, Weight: 1, Size: 1, TTL: 20 * time.Second, Join: true}
		}
		_, err := e.Take(ctx, request("1"))
		all = append(all, err)
		if err != nil {
			return all
		}
		e.Renew(ctx, []driver.Renewal{{Hold: driver.Hold{Key: k, Owner: "1"}, TTL: 20 * time.Second}},
			func(_ int, err error) { all = append(all, err) })
		if _, err := e.Take(ctx, request("2")); !errors.Is(err, driver.ErrHeld) {
			all = append(all, err)
		}
		time.AfterFunc(5*time.Millisecond, func() {
			_ = e.Release(context.WithoutCancel(ctx), driver.Release{Hold: driver.Hold{Key: k, Owner: "1"}})
		})
		waiting, cancel := context.WithTimeout(ctx, 2*time.Second)
		_, err = e.Wait(waiting, request("2"))
		cancel()
		if err != nil {
			return append(all, err)
		}
		all = append(all, e.Release(ctx, driver.Release{Hold: driver.Hold{Key: k, Owner: "2"}}))
	}
	e := engines[0]
	if _, err := e.TrySet(ctx, driver.LatchSet{Name: id + "l", ID: "1", Count: 1, TTL: time.Minute}); err != nil {
		all = append(all, err)
	}
	_, err := e.CountDown(ctx, driver.LatchDown{Name: id + "l", ID: "2", TTL: time.Minute})
	s := driver.Request{Key: driver.Key{Kind: driver.Semaphore, Name: id + "s"}, Owner: "1", Weight: 1, Size: 2,
		TTL: 20 * time.Second}
	_, errTake := e.Take(ctx, s)
	return append(all, err, errTake, e.Release(ctx, driver.Release{Hold: driver.Hold{Key: s.Key, Owner: "1"}}))
}

// asOperator takes a lock away from its holder, and one without an end.
func asOperator(ctx context.Context, engines []*redisson.Engine, id string) (all []error) {
	all = append(asLooker(ctx, engines, id), asLocker(ctx, engines, id)...)
	for i, e := range engines[:2] {
		k := driver.Key{Kind: driver.Lock, Name: fmt.Sprint(id, "o", i)}
		g, err := e.Take(ctx, driver.Request{Key: k, Owner: "1", Weight: 1, Size: 1, TTL: time.Minute})
		all = append(all, err, e.ForceRelease(ctx, k, g.Token))
	}
	return all
}

// Each set of rights on the page suffices for its purpose, and each of its words is needed: without it there is an
// error, another finding, or a command that the server has refused.
func TestEachSetOfRights(t *testing.T) {
	t.Parallel()
	s := redisserver.ForTest(t, redisserver.Config{Lines: []string{"acllog-max-len 100000"}})
	command := func(args ...string) any {
		answer, err := s.Command(args...)
		if err != nil {
			t.Fatal(args, err)
		}
		return answer
	}
	command("HSET", "app:left", javaOwner, "1")
	command("RPUSH", "redisson_lock_queue:{app:left}", javaOwner)
	looked, locked := documentedRights(t, "look"), documentedRights(t, "lock")
	var users int
	symptoms := func(play func(context.Context, []*redisson.Engine, string) []error, words []string) (all []string) {
		users++
		user := fmt.Sprint("user", users)
		command(append([]string{"ACL", "SETUSER", user, "on", ">secret", "resetkeys", "resetchannels"}, words...)...)
		command("SCRIPT", "FLUSH")
		client := goredis.NewClient(&goredis.Options{Addr: s.Addr(), Username: user, Password: "secret",
			ContextTimeoutEnabled: true, MaxRetries: -1})
		defer client.Close()
		var engines []*redisson.Engine
		for _, lock := range []redisson.LockType{redisson.Fenced, redisson.Fair, redisson.ReadWrite} {
			e, err := redisson.New(client, redisson.WithPrefix("app:"), redisson.WithLock(lock),
				redisson.WithSemaphorePrefix("s:"), redisson.WithLatchPrefix("l:"))
			if err != nil {
				t.Fatal(err)
			}
			defer e.Close()
			engines = append(engines, e)
		}
		for _, err := range play(t.Context(), engines, user+"-") {
			if err != nil {
				all = append(all, err.Error())
			}
		}
		x, err := engines[0].Examine(t.Context())
		if err != nil {
			all = append(all, err.Error())
		}
		for _, f := range x.Findings {
			all = append(all, f.Code+" "+f.Text)
		}
		entries, _ := command("ACL", "LOG", "100000").([]any)
		for _, entry := range entries {
			text := fmt.Sprint(entry)
			object := regexp.MustCompile(`object (\S+)`).FindStringSubmatch(text)
			if strings.Contains(text, "username "+user+" ") && object != nil && object[1] != "client|setname" &&
				object[1] != "client|setinfo" && object[1] != "config|get" && object[1] != "hello" {
				all = append(all, "refused "+object[1])
			}
		}
		slices.Sort(all)
		return slices.Compact(all)
	}
	for name, set := range map[string]struct {
		play  func(context.Context, []*redisson.Engine, string) []error
		words []string
		codes string // of the findings with all words
	}{
		"look":    {asLooker, looked, "config-unreadable no-guard rights-look"},
		"lock":    {asLocker, locked, "config-unreadable no-guard rights-listing"},
		"operate": {asOperator, append(slices.Clone(locked), looked...), "config-unreadable no-guard"},
	} {
		whole := symptoms(set.play, set.words)
		var codes []string
		for _, s := range whole {
			code, _, _ := strings.Cut(s, " ")
			codes = append(codes, code)
		}
		codes = slices.DeleteFunc(codes, func(code string) bool { return code == "refused" })
		if got := strings.Join(codes, " "); got != set.codes {
			t.Errorf("%s: with all rights:\n%s", name, strings.Join(whole, "\n"))
		}
		if name == "operate" {
			continue // its words are those of the others
		}
		for i, word := range set.words {
			without := slices.Delete(slices.Clone(set.words), i, i+1)
			if got := symptoms(set.play, without); slices.Equal(got, whole) {
				t.Errorf("%s: nothing shows that %s is missing", name, word)
			}
		}
	}
}

// WithReplicas needs one more right. Without it no lease is granted, and the doctor says so.
func TestRightOfReplicas(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/redisson.md")
	if err != nil || !strings.Contains(string(page), "With `WithReplicas`, add `+wait`.") {
		t.Errorf("the page does not name the right: %v", err)
	}
	s := redisserver.ReplicatedForTest(t, 1, redisserver.Config{}).Master
	words := documentedRights(t, "lock")
	for user, words := range map[string][]string{"without": words, "with": append(slices.Clone(words), "+wait")} {
		rules := append([]string{"ACL", "SETUSER", user, "on", ">secret", "resetkeys", "resetchannels"}, words...)
		if _, err := s.Command(rules...); err != nil {
			t.Fatal(err)
		}
		client := goredis.NewClient(&goredis.Options{Addr: s.Addr(), Username: user, Password: "secret",
			ContextTimeoutEnabled: true, MaxRetries: -1})
		defer client.Close()
		e, err := redisson.New(client, redisson.WithPrefix("app:"), redisson.WithReplicas(1, time.Second))
		if err != nil {
			t.Fatal(err)
		}
		defer e.Close()
		x, err := e.Examine(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		missing := slices.ContainsFunc(x.Findings, func(f driver.Finding) bool {
			return f.Code == "rights" && strings.Contains(f.Text, "+wait")
		})
		all := asLocker(t.Context(), []*redisson.Engine{e}, user)
		if user == "with" {
			if err := errors.Join(all...); err != nil || missing {
				t.Errorf("%v, %v", err, x.Findings)
			}
			continue
		}
		if !driver.IsPermanent(all[0]) || !strings.Contains(all[0].Error(), "this user lacks +wait") || !missing {
			t.Errorf("%v, %v", all[0], x.Findings)
		}
		if left, err := s.Command("EXISTS", "app:"+user+"0"); left != int64(0) {
			t.Errorf("the lock is left behind: %v, %v", left, err)
		}
	}
}

// moreRights are the words that the documentation adds in a special case.
func moreRights(t *testing.T, when string) []string {
	t.Helper()
	page, err := os.ReadFile("../../docs/redisson.md")
	must(t, err)
	found := regexp.MustCompile(when + "[^\n]*, add `([^`]+)`").FindStringSubmatch(string(page))
	if found == nil {
		t.Fatalf("the page says nothing about %q", when)
	}
	return strings.Fields(found[1])
}

// The documented rights suffice in a Cluster, also for names with braces, and none of them is needless there.
func TestRightsInACluster(t *testing.T) {
	t.Parallel()
	c := redisserver.ClusterForTest(t, 3, 0, redisserver.Config{})
	users := 0
	symptoms := func(tag string, words []string) (all []string) {
		users++
		user := fmt.Sprint("user", users)
		for _, n := range c.Nodes {
			_, err := n.Command(append([]string{"ACL", "SETUSER", user, "on", ">secret", "resetkeys", "resetchannels"},
				words...)...)
			must(t, err)
		}
		client := goredis.NewClusterClient(&goredis.ClusterOptions{Addrs: c.Addrs(), Username: user, Password: "secret",
			ContextTimeoutEnabled: true, MaxRetries: -1, DisableRoutingPolicies: true})
		defer client.Close()
		for _, lock := range []redisson.LockType{redisson.Fenced, redisson.Fair, redisson.ReadWrite} {
			e, err := redisson.New(client, redisson.WithPrefix("app:"), redisson.WithLock(lock))
			must(t, err)
			defer e.Close()
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
			defer cancel()
			id := fmt.Sprint(tag, user, "-", lock)
			k := driver.Key{Kind: driver.Lock, Name: id}
			r := driver.Request{Key: k, Owner: "1", Weight: 1, Size: 1, TTL: time.Minute, Join: true}
			_, err = e.Take(ctx, r)
			all = append(all, fmt.Sprint(err))
			if err != nil {
				continue
			}
			// Some releases send messages only if somebody listens.
			released := make(chan error, 1)
			time.AfterFunc(5*time.Millisecond, func() {
				released <- e.Release(ctx, driver.Release{Hold: driver.Hold{Key: k, Owner: "1"}})
			})
			r.Owner = "2"
			_, err = e.Wait(ctx, r)
			all = append(all, fmt.Sprint(err, <-released))
			found, err := e.List(ctx, driver.Query{Prefix: id})
			all = append(all, fmt.Sprint(len(found), err, e.Leaks(ctx, driver.Query{Prefix: id},
				func(driver.Leak) bool { return true })))
		}
		for _, n := range c.Nodes {
			entries, err := n.Command("ACL", "LOG", "128")
			must(t, err)
			for _, entry := range entries.([]any) {
				text := fmt.Sprint(entry)
				object := regexp.MustCompile(`object (\S+)`).FindStringSubmatch(text)
				if strings.Contains(text, "username "+user+" ") && object != nil && object[1] != "hello" &&
					!strings.HasPrefix(object[1], "client|") {
					all = append(all, "refused "+object[1])
				}
			}
		}
		slices.Sort(all)
		return slices.Compact(all)
	}
	inCluster, withBraces := moreRights(t, "In a Cluster"), moreRights(t, "For names with braces")
	words := slices.Concat(documentedRights(t, "look"), documentedRights(t, "lock"), inCluster)
	const well = "1 <nil> <nil>, <nil>, <nil> <nil>"
	if got := strings.Join(symptoms("", words), ", "); got != well {
		t.Errorf("with all rights: %s", got)
	}
	if got := strings.Join(symptoms("{a}", append(slices.Clone(words), withBraces...)), ", "); got != well {
		t.Errorf("with all rights, and names with braces: %s", got)
	}
	for i, word := range inCluster {
		without := append(slices.Clone(words[:len(words)-len(inCluster)]), slices.Delete(slices.Clone(inCluster), i,
			i+1)...)
		if got := strings.Join(symptoms("", without), ", "); got == well {
			t.Errorf("nothing shows that %s is missing", word)
		}
	}
	for i, word := range withBraces {
		without := append(slices.Clone(words), slices.Delete(slices.Clone(withBraces), i, i+1)...)
		if got := strings.Join(symptoms("{a}", without), ", "); got == well {
			t.Errorf("names with braces: nothing shows that %s is missing", word)
		}
	}
}

// The sets of rights have all commands of the scripts.
func TestRightsHaveAllCommandsOfTheScripts(t *testing.T) {
	t.Parallel()
	words := documentedRights(t, "lock")
	files, err := filepath.Glob("scripts/*.lua")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, call := range regexp.MustCompile(`redis\.p?call\('(\w+)'`).FindAllStringSubmatch(string(text), -1) {
			if !slices.Contains(words, "+"+call[1]) {
				t.Errorf("%s: the rights to lock lack +%s", file, call[1])
			}
		}
	}
}
